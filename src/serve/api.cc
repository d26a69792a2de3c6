#include "serve/api.h"

#include <algorithm>
#include <new>

#include "core/concat.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/gzip.h"
#include "io/json_writer.h"
#include "serve/figures.h"
#include "serve/matrices.h"
#include "serve/page.h"
#include "serve/payload.h"
#include "serve/requests.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kCacheBytes = std::size_t{512} << 20;
constexpr std::size_t kMostWeights = std::size_t{1} << 22;  // in one answer

Answer bytes(std::string body) { return {.type = "application/octet-stream", .body = std::move(body)}; }
Answer json(std::string body) { return {.body = std::move(body)}; }

int status_of(const Error& error) {
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
      desk_(options_.threads),
      runs_(kCacheBytes),
      zipped_page_(io::gzip(page_html())) {
  for (const ModelPlace& place : options_.models) slots_.push_back({place, std::nullopt});
}

void Api::warm_up() { (void)model_of(slots_.front().place.name); }

Model Api::model_of(const std::string& name) {
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.place.name == name; });
  if (slot == slots_.end()) throw BadRequest{"there is no such model"};
  {
    const std::lock_guard lock(slots_mutex_);
    if (slot->model) return *slot->model;
  }
  // Two threads may load the same model; only one does, as this happens at the desk.
  Model model = Model::open(slot->place.folder, {.name = slot->place.name});
  const std::lock_guard lock(slots_mutex_);
  slot->model = model;
  return model;
}

Answer Api::answer(const Ask& ask) {
  try {
    return route(ask);
  } catch (const BadRequest& bad) { return failure(400, "request", bad.why); } catch (const Busy&) {
    return failure(503);
  } catch (const ClientLeft&) { return failure(499, "client", "the client left"); } catch (const Cancelled&) {
    return failure(499, "client", "the client left");
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

Answer Api::route(const Ask& ask) {
  const Segments path = split(ask.path);
  const bool posts = ask.method == "POST";
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::equal(path.begin(), path.end(), names.begin(), names.end());
  };
  if (is({""}) || is({"index.html"})) return posts ? failure(405) : page(ask);
  if (is({"favicon.ico"})) return {.status = 204, .type = "image/x-icon", .body = ""};
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1") return failure(404);
  if (is({"api", "v1", "health"}))
    return json(io::JsonWriter().begin_object().field("ok", true).end_object().take_line());
  if (is({"api", "v1", "enter"})) return posts ? enter() : failure(405);
  if (is({"api", "v1", "models"})) return posts ? failure(405) : models();
  if (is({"api", "v1", "run"})) return posts ? start_run(ask) : failure(405);
  if (path[2] == "run" && path.size() >= 5) return of_run(ask, path);
  return failure(404);
}

Answer Api::page(const Ask& ask) const {
  Answer answer{.type = "text/html; charset=utf-8", .body = std::string(page_html())};
  answer.headers.emplace_back("Content-Security-Policy", page_policy());
  if (ask.takes_gzip) {
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
  w.field("most_tokens", kMostTokens).key("models").begin_list();
  for (const Slot& slot : slots_) {
    const std::string& argument = slot.place.argument.empty() ? slot.place.name : slot.place.argument;
    if (slot.model) w.value(io::JsonText{model_json(*slot.model, argument)});
    else w.begin_object().field("name", slot.place.name).field("argument", argument).end_object();
  }
  return json(w.end_list().end_object().take_line());
}

Answer Api::start_run(const Ask& ask) { return run_of(ask, parse_run(ask.body, slots_.front().place.name)); }

Answer Api::run_of(const Ask& ask, const RunRequest& request) {
  if (const auto known = runs_.find(request.id())) return json(run_json(*known));
  const auto run = desk_.at_turn(ask.left, [&](Context& ctx) {
    if (auto known = runs_.find(request.id())) return known;  // somebody else asked for it meanwhile
    auto made = make_run(ctx, model_of(request.model), request, ask.left);
    runs_.keep(made);
    return made;
  });
  return json(run_json(*run));
}

Answer Api::of_run(const Ask& ask, const Segments& path) {
  const auto run = runs_.find(std::string(path[3]));
  if (!run) return failure(404, "run.unknown", "this run is no longer kept; ask for it again");
  const bool posts = ask.method == "POST";
  if (path[4] == "next" && path.size() == 5) {
    if (posts) return next_token(ask, *run);
    const Index position = Fields(ask.query).integer("position");
    if (position >= run->run.positions()) throw BadRequest{"there is no such position"};
    const Prediction next =
        desk_.at_turn(ask.left, [&](Context& ctx) { return run->run.prediction(position, kGuesses, ctx); });
    return json(prediction_json(run->run.model(), position, next));
  }
  if (posts) return failure(405);
  if (path[4] == "figure" && path.size() == 5) return figure(ask, *run);
  if (path.size() >= 6) return of_part(ask, run->run, path);
  return failure(404);
}

Answer Api::of_part(const Ask& ask, const Run& run, const Segments& path) {
  const auto part = parse_part(path[4]);
  if (!part || !run.has(*part)) return failure(404);
  if (path.size() == 6 && path[5] == "weights.f32") {
    if (all_weights_count(run, *part) > kMostWeights) return failure(413);
    return bytes(desk_.at_turn(ask.left, [&](Context& ctx) { return all_weights(ctx, run, *part); }));
  }
  if (path.size() == 6 && path[5] == "atlas.u8")
    return bytes(desk_.at_turn(ask.left, [&](Context& ctx) { return atlas(ctx, run, *part); }));
  if (path.size() != 7) return failure(404);
  const auto suffixed = [](std::string_view text, std::string_view suffix) {
    return text.ends_with(suffix) ? parse_count(text.substr(0, text.size() - suffix.size())) : std::nullopt;
  };
  const StoredAttention& first = *run.state().find(*part, 0);
  if (path[5] == "row") {
    const auto query = suffixed(path[6], ".f32");
    if (!query || *query >= first.queries()) throw BadRequest{"there is no such query"};
    return bytes(desk_.at_turn(ask.left, [&](Context& ctx) { return row_weights(ctx, run, *part, *query); }));
  }
  const auto layer = parse_count(path[5]), matrices = suffixed(path[6], ".matrices");
  const auto head = matrices ? matrices : suffixed(path[6], ".bin");
  if (!layer || !head || *layer >= run.model().info().find(*part)->layers() || *head >= first.heads())
    throw BadRequest{"there is no such head"};
  return bytes(desk_.at_turn(ask.left, [&](Context& ctx) {
    return (matrices ? head_matrices : head_numbers)(ctx, run, *part, *layer, *head);
  }));
}

Answer Api::next_token(const Ask& ask, const KeptRun& run) {
  const models::SamplingOptions options = parse_sampling(ask.body);
  return run_of(ask,
                desk_.at_turn(ask.left, [&](Context& ctx) { return with_next_token(ctx, run, options); }));
}

Answer Api::figure(const Ask& ask, const KeptRun& kept) {
  const Run& run = kept.run;
  const FileRequest request = parse_figure(ask.query);
  const PartInfo* part = run.model().info().find(request.part());
  if (part == nullptr || !run.has(request.part()) || request.head().layer >= part->layers() ||
      request.head().head >= part->heads[static_cast<std::size_t>(request.head().layer)])
    throw BadRequest{"there is no such head"};
  if (request.view.from.end > run.queries(request.part()).size() ||
      request.view.to.end > run.keys(request.part()).size())
    throw BadRequest{"there are fewer tokens"};
  Answer answer = bytes(desk_.at_turn(
      ask.left, [&](Context& ctx) { return file_of(ctx, run, request, !kept.request.target.empty()); }));
  answer.type = media_type(request.form);
  answer.headers.emplace_back("Content-Disposition",
                              concat("attachment; filename=\"headlight-", request.head().layer, ".",
                                     request.head().head, ".", name_of(request.form), "\""));
  return answer;
}

}  // namespace headlight::serve
