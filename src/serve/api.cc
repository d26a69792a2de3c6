#include "serve/api.h"

#include <algorithm>
#include <new>

#include "core/concat.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/gzip.h"
#include "io/json_writer.h"
#include "serve/corpus.h"
#include "serve/page.h"
#include "serve/payload.h"
#include "serve/requests.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kCacheBytes = std::size_t{512} << 20;

Answer json(std::string body) { return {.body = std::move(body)}; }

int status_of(const Error& error) {
  if (error.code() == "playground.busy") return 409;
  if (error.code() == "inspect.length" || error.kind() == ErrorKind::resource) return 413;
  const bool is_ours = error.kind() == ErrorKind::file || error.kind() == ErrorKind::numeric;
  return is_ours ? 500 : 400;
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (path.remove_prefix(1);;) {
    const std::size_t end = path.find('/');
    parts.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return parts;
    path.remove_prefix(end + 1);
  }
}

}  // namespace

Api::Api(ApiOptions options)
    : options_(std::move(options)),
      queue_(options_.threads, options_.executor),
      writing_(options_.threads, options_.executor),
      runs_(kCacheBytes),
      zipped_page_(io::gzip(page_html())),
      playground_({.threads = options_.threads,
                   .folder = options_.save_folder,
                   .saved = [this](const std::string& name, const std::string& folder) {
                     add_model(name, folder);
                   }}) {
  for (const ModelPlace& place : options_.models) slots_.push_back({place, std::nullopt});
}

void Api::warm_up() { (void)model_of(slots_.front().place.name); }

Model Api::model_of(const std::string& name) {
  ModelPlace place;
  const auto find = [&] {
    return std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.place.name == name; });
  };
  {
    const std::lock_guard lock(slots_mutex_);
    const auto slot = find();
    if (slot == slots_.end()) throw BadRequest{"there is no such model"};
    if (slot->model) return *slot->model;
    place = slot->place;
  }
  // Threads that need the same model load it once: this runs in the work queue.
  Model model = Model::open(place.folder, {.name = place.name});
  if (options_.opened) options_.opened(place, model);
  const std::lock_guard lock(slots_mutex_);
  find()->model = model;
  return model;
}

// Reloads a model that was saved before under this name; other models of that name are not replaced.
void Api::add_model(const std::string& name, const std::string& folder) {
  const std::lock_guard lock(slots_mutex_);
  for (Slot& slot : slots_) {
    if (slot.place.name != name) continue;
    if (slot.place.folder == folder) slot.model.reset();
    return;
  }
  slots_.push_back({{name, folder, folder}, std::nullopt});
}

Answer Api::answer(const HttpRequest& http) {
  return guarded([&] { return route(http); });
}

Answer Api::guarded(const std::function<Answer()>& work) const {
  try {
    return work();
  } catch (const BadRequest& bad) { return failure(400, "request", bad.why); } catch (const Busy&) {
    return failure(503);
  } catch (const ClientLeft&) {
    return failure(499, "client", "the client disconnected");
  } catch (const Cancelled&) {
    return failure(499, "client", "the client disconnected");
  } catch (const Error& error) {
    const int status = status_of(error);
    if (status != 500) return failure(status, error.code(), error.what());
    if (options_.complain) options_.complain(error.what());
    return failure(500, error.code(), "the model cannot be used; see the server log in the terminal");
  } catch (const std::bad_alloc&) {
    return failure(413, "memory", "there is not enough memory for this");
  } catch (const std::exception& error) {
    if (options_.complain) options_.complain(error.what());
    return failure(500, "unexpected", "unexpected error; see the server log in the terminal");
  }
}

Answer Api::route(const HttpRequest& http) {
  const Segments path = split(http.path);
  const bool posts = http.method == "POST";
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::equal(path.begin(), path.end(), names.begin(), names.end());
  };
  if (is({""}) || is({"index.html"})) return posts ? failure(405) : page(http);
  if (is({"favicon.ico"})) return {.status = 204, .type = "image/x-icon", .body = ""};
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1") return failure(404);
  if (is({"api", "v1", "health"}))
    return json(io::JsonWriter().begin_object().field("ok", true).end_object().take_line());
  if (is({"api", "v1", "enter"})) return posts ? enter() : failure(405);
  const std::span<const std::string_view> rest = std::span(path).subspan(3);
  if (path[2] == "train") return playground_.answer(http, rest);
  if (path[2] == "learn" && options_.course) return posts ? failure(405) : options_.course(http, rest);
  if (is({"api", "v1", "models"})) return posts ? failure(405) : models();
  if (is({"api", "v1", "corpus"})) return posts ? corpus(http) : failure(405);
  if (is({"api", "v1", "run"})) return posts ? start_run(http) : failure(405);
  if (path[2] == "run" && path.size() >= 5) return of_run(http, path);
  return failure(404);
}

Answer Api::page(const HttpRequest& http) const {
  Answer answer{.type = "text/html; charset=utf-8", .body = std::string(page_html())};
  answer.headers.emplace_back("Content-Security-Policy", page_policy());
  if (http.takes_gzip) {
    answer.body = zipped_page_;
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  return answer;
}

Answer Api::enter() const {
  Answer answer = json(io::JsonWriter().begin_object().field("ok", true).end_object().take_line());
  answer.headers.emplace_back(
      "Set-Cookie", concat(options_.cookie, "=", options_.token, "; Path=/; HttpOnly; SameSite=Strict"));
  return answer;
}

Answer Api::models() {
  const std::lock_guard lock(slots_mutex_);
  io::JsonWriter w;
  w.begin_object().field("version", kVersion).field("sentence", kSentence);
  w.field("most_tokens", kMostTokens).field("corpus", options_.corpus.size()).key("models").begin_list();
  for (const Slot& slot : slots_) {
    const std::string& argument = slot.place.argument.empty() ? slot.place.name : slot.place.argument;
    if (slot.model) w.value(io::JsonText{model_json(*slot.model, argument)});
    else w.begin_object().field("name", slot.place.name).field("argument", argument).end_object();
  }
  return json(w.end_list().end_object().take_line());
}

Answer Api::corpus(const HttpRequest& http) {
  const CorpusRequest request = parse_corpus(http.body);
  return json(queue_.run_in_turn(http.left, [&](Context& ctx) {
    return corpus_json(ctx, model_of(request.model), request, options_.corpus, http.left);
  }));
}

Answer Api::start_run(const HttpRequest& http) {
  return run_of(http, parse_run(http.body, slots_.front().place.name));
}

Answer Api::run_of(const HttpRequest& http, const RunRequest& request) {
  if (const auto known = runs_.find(request.id())) return json(run_json(*known));
  const auto run = queue_.run_in_turn(http.left, [&](Context& ctx) {
    if (auto known = runs_.find(request.id())) return known;  // another request computed it meanwhile
    auto made = make_run(ctx, model_of(request.model), request, http.left);
    runs_.keep(made);
    return made;
  });
  return json(run_json(*run));
}

}  // namespace headlight::serve
