#include "measure/cblas.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include <array>

#include "core/concat.h"

namespace headlight::measure {
namespace {

// The constants of every cblas.h.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

// libblas.so.3 comes last: without a tuned library it is the slow reference BLAS, and a
// ratio to that would be misleading. The table names the library.
constexpr std::array<const char*, 9> kLibraries = {"libopenblas.so.0", "libopenblas.so", "libblis.so.4",
                                                   "libblis.so.3",     "libblis.so",     "libcblas.so.3",
                                                   "libcblas.so",      "libblas.so.3",   "libblas.so"};

template <class Function>
Function symbol(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

// "OpenBLAS 0.3.21 NO_LAPACK … Zen" → the library's version text, or its file name.
std::string describe(void* handle, const std::string& file) {
  if (const auto config = symbol<const char* (*)()>(handle, "openblas_get_config")) return config();
  if (const auto version = symbol<const char* (*)()>(handle, "bli_info_get_version_str")) {
    return std::string("BLIS ") + version();
  }
  struct DnnlVersion {
    int major, minor, patch;
  };
  if (const auto version = symbol<const DnnlVersion* (*)()>(handle, "dnnl_version")) {
    return concat("oneDNN ", version()->major, ".", version()->minor, ".", version()->patch);
  }
  return file;
}

// OpenBLAS allocates more than 128 MB per thread, and retries endlessly if that fails.
bool memory_is_limited() {
  constexpr rlim_t kEnough = rlim_t{4} << 30;
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < kEnough;
}

}  // namespace

std::unique_ptr<Cblas> Cblas::load(const std::string& library) {
  if (memory_is_limited()) return nullptr;
  const auto open = [](const std::string& file) -> std::unique_ptr<Cblas> {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    std::unique_ptr<Cblas> found(new Cblas);
    found->sgemm_ = symbol<Sgemm>(handle, "cblas_sgemm");
    found->dnnl_sgemm_ = symbol<DnnlSgemm>(handle, "dnnl_sgemm");
    if (found->sgemm_ == nullptr && found->dnnl_sgemm_ == nullptr) return nullptr;
    found->name_ = describe(handle, file);
    found->set_int_ = symbol<void (*)(int)>(handle, "openblas_set_num_threads");
    if (found->set_int_ == nullptr) found->set_int_ = symbol<void (*)(int)>(handle, "MKL_Set_Num_Threads");
    found->set_long_ = symbol<void (*)(long)>(handle, "bli_thread_set_num_threads");
    return found;
  };
  if (!library.empty()) return open(library);
  for (const char* file : kLibraries) {
    if (auto found = open(file)) return found;
  }
  return nullptr;
}

// OpenBLAS keeps threads that outlive a dlclose(), so the library stays loaded until the program ends.
Cblas::~Cblas() = default;

bool Cblas::set_threads(int threads) const {
  if (set_int_ != nullptr) set_int_(threads);
  if (set_long_ != nullptr) set_long_(threads);
  return set_int_ != nullptr || set_long_ != nullptr;
}

void Cblas::sgemm(Transpose transpose_b, int rows, int columns, int inner, float alpha, Matrix a, Matrix b,
                  float* c, int ldc) const {
  if (sgemm_ != nullptr) {
    sgemm_(kRowMajor, kNoTrans, transpose_b == Transpose::yes ? kTrans : kNoTrans, rows, columns, inner,
           alpha, a.data, a.ld, b.data, b.ld, 0.0F, c, ldc);
  } else {
    (void)dnnl_sgemm_('N', transpose_b == Transpose::yes ? 'T' : 'N', rows, columns, inner, alpha, a.data,
                      a.ld, b.data, b.ld, 0.0F, c, ldc);
  }
}

}  // namespace headlight::measure
