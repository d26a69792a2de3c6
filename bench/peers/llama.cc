// Tokens per second of llama.cpp: a prompt of 512 tokens, then one token after another from 32 on.
//
//   peer_llama FOLDER FILE.gguf THREADS     FOLDER has its shared libraries
//
// Their header does not come with them. What is called by value is larger than two registers, so it travels in memory: room
// that is large enough, and the few fields below, which are checked against their known defaults, are all we need.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace {

struct Opaque {
  alignas(16) std::uint32_t words[256];
};
struct Model;
struct Session;
struct Memory;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "peer_llama: %s\n", what.c_str());
  std::exit(1);
}

void* open_library(const std::filesystem::path& folder, const std::string& begins) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begins)) continue;
    if (void* library = dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    fail(dlerror());
  }
  fail("no " + begins + "* in " + folder.string());
}

template <class Function>
Function* find(void* library, const char* name) {
  if (void* symbol = dlsym(library, name)) return reinterpret_cast<Function*>(symbol);
  fail(std::string("no function ") + name);
}

class Llama {
 public:
  Llama(const std::string& folder, const std::string& file, int threads) {
    void* base = open_library(folder, "libggml.");
    find<void(const char*)>(base, "ggml_backend_load_all_from_path")(folder.c_str());
    void* library = open_library(folder, "libllama.");
    find<void()>(library, "llama_backend_init")();
    find<void(void (*)(int, const char*, void*), void*)>(library, "llama_log_set")(
        [](int, const char*, void*) {}, nullptr);
    const Opaque model_settings = find<Opaque()>(library, "llama_model_default_params")();
    model_ = find<Model*(const char*, Opaque)>(library, "llama_model_load_from_file")(file.c_str(),
                                                                                      model_settings);
    if (model_ == nullptr) fail("cannot load " + file);
    Opaque settings = find<Opaque()>(library, "llama_context_default_params")();
    if (settings.words[0] != 512 || settings.words[1] != 2048) fail("its settings have another order");
    longest_ = std::min(1024, find<int(Model*)>(library, "llama_model_n_ctx_train")(model_));
    settings.words[0] = static_cast<std::uint32_t>(longest_);
    session_ = find<Session*(Model*, Opaque)>(library, "llama_init_from_model")(model_, settings);
    if (session_ == nullptr) fail("cannot make a context");
    find<void(Session*, int, int)>(library, "llama_set_n_threads")(session_, threads, threads);
    memory_ = find<Memory*(Session*)>(library, "llama_get_memory")(session_);
    clear_ = find<void(Memory*, bool)>(library, "llama_memory_clear");
    batch_ = find<Opaque(std::int32_t*, std::int32_t)>(library, "llama_batch_get_one");
    decode_ = find<std::int32_t(Session*, Opaque)>(library, "llama_decode");
    logits_ = find<float*(Session*)>(library, "llama_get_logits");
  }

  void clear() { clear_(memory_, true); }
  void read(std::vector<std::int32_t> tokens) {
    if (decode_(session_, batch_(tokens.data(), static_cast<std::int32_t>(tokens.size()))) != 0)
      fail("decoding failed");
    if (logits_(session_) == nullptr) fail("no logits");  // waits for them, too
  }
  [[nodiscard]] int longest() const { return longest_; }

 private:
  Model* model_;
  Session* session_;
  Memory* memory_;
  int longest_ = 0;
  void (*clear_)(Memory*, bool);
  Opaque (*batch_)(std::int32_t*, std::int32_t);
  std::int32_t (*decode_)(Session*, Opaque);
  float* (*logits_)(Session*);
};

std::vector<std::int32_t> tokens(int count) {
  std::vector<std::int32_t> result;
  for (int i = 0; i < count; ++i) result.push_back(3 + i * 7919 % 200);
  return result;
}

template <class Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: peer_llama FOLDER FILE.gguf THREADS");
  Llama llama(argv[1], argv[2], std::atoi(argv[3]));
  const int prompt = std::min(512, llama.longest()), count = std::min(96, llama.longest() - 64);
  double prefill = std::numeric_limits<double>::infinity(), decode = prefill;
  for (int repeat = 0; repeat < 3; ++repeat) {
    llama.clear();
    prefill = std::min(prefill, seconds([&] { llama.read(tokens(prompt)); }));
    llama.clear();
    llama.read(tokens(32));
    decode = std::min(decode, seconds([&] {
                        for (const std::int32_t token : tokens(count)) llama.read({token});
                      }));
  }
  std::printf("{\"prefill\": %.3f, \"decode\": %.3f}\n", prompt / prefill, count / decode);
}
