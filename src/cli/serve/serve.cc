// headlight serve: the viewer, in a browser of this machine.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/ranks.h"
#include "cli/serve/course.h"
#include "cli/serve/models.h"
#include "cli/terminal.h"
#include "core/escape.h"
#include "draw/qr_code.h"
#include "headlight/error.h"
#include "nn/lead.h"
#include "serve/api.h"
#include "serve/http_server.h"
#include "session/state.h"

extern char** environ;  // NOLINT: the POSIX signature

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;
constexpr Index kUsualPort = 7437;
constexpr Index kMostCorpus = 10'000;  // texts

struct ServeSettings {
  ModelList models;
  std::optional<Index> port;
  Index threads = 0;
  bool no_open = false, log = false, lan = false;
  std::string save_folder = "runs";
  std::string at, corpus;
};

// A signal writes a byte to a pipe that a thread reads, because handlers may do no more.
std::array<int, 2> g_pipe = {-1, -1};
std::atomic<int> g_signal{0};
extern "C" void stop_serving(int signal) {
  if (g_signal.exchange(signal) != 0) ::_exit(128 + signal);  // the second signal ends the program at once
  const char byte = 0;
  (void)!::write(g_pipe[1], &byte, 1);
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

// The link's token must not appear in the list of processes, so the browser gets a file that only this user can read.
bool open_browser(const std::string& link) {
  std::error_code problem;
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  const fs::path folder = own != nullptr && *own != '\0' ? fs::path(own) : fs::temp_directory_path(problem);
  std::string path = (folder / "headlight-XXXXXX.html").string();
  const int fd = ::mkstemps(path.data(), 5);
  if (fd < 0) return false;
  const std::string text =
      concat("<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=", link,
             "\"><a href=\"", link, "\">Headlight</a>\n");
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!written) return false;
  std::array<char*, 3> arguments = {const_cast<char*>("xdg-open"), path.data(), nullptr};
  pid_t child = 0;
  return ::posix_spawnp(&child, "xdg-open", nullptr, nullptr, arguments.data(), environ) == 0;
}

// The address under which other machines reach this one: the first private one, else the first.
std::string network_address() {
  ifaddrs* all = nullptr;
  std::string found;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const auto& address = *reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    const std::uint32_t ip = ntohl(address.sin_addr.s_addr);
    if (ip >> 24 == 127) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    const bool is_private = ip >> 24 == 10 || ip >> 20 == 0xAC1 || ip >> 16 == 0xC0A8;
    if (is_private || found.empty()) found = text.data();
    if (is_private) break;
  }
  ::freeifaddrs(all);
  return found;
}

void introduce_to_network(const std::string& link) {
  std::string text = concat("Headlight is at ", link, "\n");
  if (link.size() <= draw::kMostQrBytes && output_is_terminal()) text += draw::qr_text(draw::qr_code(link));
  print(text +
        "  Everyone in this network who has the link can use the page. It is not encrypted: use it in a "
        "network\n"
        "  that you trust. Ctrl-C stops the server.\n");
}

void introduce(const ServeSettings& s, int port, const std::string& link) {
  std::string text = concat("Headlight is at ", link, "\n");
  const bool opens = !s.no_open && has_display() && open_browser(link);
  if (!opens) {
    text += concat("  On another machine: ssh -L ", port, ":127.0.0.1:", port,
                   " THIS-MACHINE, then open the same link there.\n");
  }
  print(text + "  The link contains the access token of this server. Ctrl-C stops the server.\n");
}

void check_view(const std::string& at) {
  for (const char c : at) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && std::string_view("-_.~%=&,").find(c) == std::string_view::npos)
      refuse_value("--at", at, "a view as printed by headlight show or copied by Share in the viewer");
  }
}

// The matrices of a model, in an order that is the same in every process that opens it.
nn::Matrices matrices_of(const Model& model) {
  nn::Matrices list;
  models::Transformer* transformer = model.state().loaded.model.get();
  if (transformer == nullptr) return list;
  for (const Parameter* parameter : transformer->parameters())
    if (parameter->stored.given()) list.push_back(&parameter->stored);
  return list;
}

// Ranks above 0: rank 0 has the page, and releases them when it is closed.
void help_viewer(const ServeSettings& s) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) (void)std::signal(signal, SIG_IGN);
  std::deque<Model> models;  // its matrices must not move
  nn::help_leader(*team(), static_cast<int>(s.threads), [&](const std::string& folder) {
    return matrices_of(models.emplace_back(Model::open(folder)));
  });
}

void run(const ServeSettings& s) {
  check_view(s.at);
  if (team() != nullptr) {
    check_same_files({served_models(s.models, s.lan).front().folder});
    if (team()->rank() > 0) return help_viewer(s);
  }
  serve::HttpOptions http;
  http.token = serve::random_token();
  http.headers = serve::safe_headers();
  const auto tell = [](const std::string& line) { print_error(line + "\n"); };
  if (s.log) http.log = tell;
  if (s.lan) {
    http.lan = network_address();
    if (http.lan.empty())
      throw Error(ErrorKind::resource, "serve.lan",
                  "--lan: this machine has no address in a network\nConnect it, or serve this machine alone "
                  "without --lan.");
  }

  serve::ApiOptions options;
  options.models = served_models(s.models, s.lan);
  if (!s.corpus.empty()) options.corpus = read_corpus(s.corpus, kMostCorpus);
  options.token = http.token;
  options.threads = static_cast<int>(s.threads);
  std::shared_ptr<nn::LeadExecutor> lead;
  if (team() != nullptr) {
    lead = std::make_shared<nn::LeadExecutor>(*team(), options.threads);
    options.executor = lead;
    options.opened = [lead](const serve::ModelPlace& place, const Model& model) {
      lead->open(place.folder, matrices_of(model));
    };
  }
  options.course = course_answer;
  options.save_folder = s.save_folder;
  options.complain = [tell](const std::string& what) { tell(error_text(what)); };
  std::unique_ptr<serve::Api> api;
  const auto handle = [&](const serve::HttpRequest& request) { return api->answer(request); };
  std::unique_ptr<serve::HttpServer> server;
  try {
    http.port = static_cast<int>(s.port.value_or(kUsualPort));
    server = std::make_unique<serve::HttpServer>(http, handle);
  } catch (const Error&) {
    if (s.port) throw;
    http.port = 0;  // the default port is taken; use any other
    server = std::make_unique<serve::HttpServer>(http, handle);
  }
  options.cookie = serve::Gate{.port = server->port(), .token = ""}.cookie_name();
  api = std::make_unique<serve::Api>(std::move(options));
  api->warm_up();

  if (::pipe2(g_pipe.data(), O_CLOEXEC) != 0)
    throw Error(ErrorKind::resource, "serve.pipe", "too many open files; raise the limit with ulimit -n");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) (void)std::signal(signal, stop_serving);
  std::thread waiter([&] {
    char byte = 0;
    while (::read(g_pipe[0], &byte, 1) < 0 && errno == EINTR) {}
    server->stop();
  });
  const std::string link = concat("http://", s.lan ? http.lan : "127.0.0.1", ":", server->port(),
                                  "/#token=", http.token, s.at.empty() ? "" : "&", s.at);
  if (s.lan) introduce_to_network(link);
  else introduce(s, server->port(), link);
  server->run();
  (void)!::write(g_pipe[1], "", 1);
  waiter.join();
  if (lead != nullptr) lead->finish();
  if (g_signal != 0) throw Stopped{g_signal};
}

}  // namespace

void add_serve(CLI::App& program) {
  CLI::App* command = add_command(
      program, {.name = "serve",
                .what = "Open the viewer: every head of a model in the browser",
                .usage = "headlight serve [--model NAME|PATH …] [--port N] [--no-open] [--at VIEW] "
                         "[--corpus FILE] [--lan]",
                .examples = "  headlight serve                       the default model and all others found\n"
                            "  headlight serve --model en --model gpt2  two models to switch between\n"
                            "  headlight serve --no-open --port 8000    print the address only\n"
                            "  headlight serve --lan --model en         with a QR code for phones in class\n"
                            "\n"
                            "  Listens on 127.0.0.1 only, unless --lan is given.\n"
                            "  The printed link contains the access token.\n"});
  const auto s = std::make_shared<ServeSettings>();
  add_models(*command, s->models);
  add_count(*command, "--port", s->port, "Port (default: 7437, or any free port)", {1, 65535});
  add_switch(*command, "--no-open", s->no_open, "Do not open a browser");
  add_text(*command, "--at", s->at, "The view to open, as copied by Share")->type_name("VIEW");
  add_path(*command, "--corpus", s->corpus, "Texts to search, one per line (the first 10,000)");
  add_switch(*command, "--lan", s->lan, "Serve the local network too, not encrypted");
  add_text(*command, "--save-to", s->save_folder, "Where Train saves models (default: runs)")
      ->type_name("FOLDER");
  add_switch(*command, "--log", s->log, "Print one line for each request on standard error");
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
