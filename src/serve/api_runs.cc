// Answers to requests about one run: /api/v1/run/ID/….
#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"
#include "headlight/lens.h"
#include "serve/api.h"
#include "serve/changes.h"
#include "serve/figures.h"
#include "serve/matrices.h"
#include "serve/offline.h"
#include "serve/payload.h"
#include "serve/requests.h"
#include "serve/write_on.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kMostWeights = std::size_t{1} << 22;  // in one answer
constexpr std::size_t kMostCells = std::size_t{1} << 20;    // in one part of a map
constexpr Index kMostRolledOut = 512;                       // tokens: a rollout multiplies square maps
constexpr Index kLensGuesses = 3;

Answer bytes(std::string body) { return {.type = "application/octet-stream", .body = std::move(body)}; }
Answer json(std::string body) { return {.body = std::move(body)}; }

Part part_field(std::string_view query, const Run& run) {
  const auto part = parse_part(Fields(query).text("part", ""));
  if (!part || !run.has(*part)) throw BadRequest{"unknown part"};
  return *part;
}

std::optional<Index> suffixed(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? parse_count(text.substr(0, text.size() - suffix.size())) : std::nullopt;
}

}  // namespace

Answer Api::of_run(const HttpRequest& http, const Segments& path) {
  const auto run = runs_.find(std::string(path[3]));
  if (!run) return failure(404, "run.unknown", "this run is no longer kept; ask for it again");
  const bool posts = http.method == "POST";
  if (path[4] == "next" && path.size() == 5) {
    if (posts) return next_token(http, *run);
    const Index position = Fields(http.query).integer("position");
    if (position >= run->run.positions()) throw BadRequest{"there is no such position"};
    const Prediction next = queue_.run_in_turn(
        http.left, [&](Context& ctx) { return run->run.prediction(position, kGuesses, ctx); });
    return json(prediction_json(run->run.model(), position, next));
  }
  if (path[4] == "write" && path.size() == 5) return posts ? write(http, run) : failure(405);
  if (path[4] == "change" && path.size() == 5) return posts ? change(http, *run) : failure(405);
  if (path[4] == "sweep" && path.size() == 5) return posts ? sweep_some(http, run->run) : failure(405);
  if (posts) return failure(405);
  if (path[4] == "labels" && path.size() == 5) return labels(http, *run);
  if (path[4] == "links" && path.size() == 5) return links(http, run->run);
  if (path[4] == "lens" && path.size() == 5) return lens(http, *run);
  if (path[4] == "page" && path.size() == 5) return saved_page(http, *run);
  if (path[4] == "figure" && path.size() == 5) return figure(http, *run);
  if (path.size() >= 6) return of_part(http, run->run, path);
  return failure(404);
}

Answer Api::of_part(const HttpRequest& http, const Run& run, const Segments& path) {
  const auto part = parse_part(path[4]);
  if (!part || !run.has(*part)) return failure(404);
  const StoredAttention& first = *run.state().find(*part, 0);
  const Index layers = run.model().info().find(*part)->layers();
  const Fields fields(http.query);
  if (path.size() == 6 && path[5] == "weights.f32") {
    if (all_weights_count(run, *part) > kMostWeights) return failure(413);
    return bytes(queue_.run_in_turn(http.left, [&](Context& ctx) { return all_weights(ctx, run, *part); }));
  }
  if (path.size() == 6 && path[5] == "atlas.u8") {
    std::optional<Index> layer;
    if (!fields.text("layer", "").empty()) layer = fields.integer("layer");
    if (layer && *layer >= layers) throw BadRequest{"there is no such layer"};
    return bytes(queue_.run_in_turn(http.left, [&](Context& ctx) { return atlas(ctx, run, *part, layer); }));
  }
  if (path.size() == 6 && path[5] == "derived.f32") {
    const std::vector<HeadPlace> heads = parse_heads(fields.text("heads", ""));
    for (const HeadPlace& head : heads)
      if (head.layer >= layers || head.head >= first.heads()) throw BadRequest{"there is no such head"};
    if (static_cast<std::size_t>(first.queries() * first.keys()) > kMostWeights ||
        (heads.empty() && first.queries() > kMostRolledOut))
      return failure(413, "length", "the text is too long for this");
    return bytes(
        queue_.run_in_turn(http.left, [&](Context& ctx) { return derived_map(ctx, run, *part, heads); }));
  }
  if (path.size() != 7) return failure(404);
  if (path[5] == "row") {
    const auto query = suffixed(path[6], ".f32");
    if (!query || *query >= first.queries()) throw BadRequest{"there is no such query"};
    return bytes(
        queue_.run_in_turn(http.left, [&](Context& ctx) { return row_weights(ctx, run, *part, *query); }));
  }
  const auto layer = parse_count(path[5]), head = parse_count(path[6].substr(0, path[6].find('.')));
  if (!layer || !head || *layer >= layers || *head >= first.heads())
    throw BadRequest{"there is no such head"};
  return of_head(http, run, {*part, static_cast<int>(*layer), static_cast<int>(*head)},
                 path[6].substr(std::min(path[6].size(), path[6].find('.'))));
}

Answer Api::of_head(const HttpRequest& http, const Run& run, const Head& head, std::string_view what) {
  const Index queries = run.queries(head.part).size(), keys = run.keys(head.part).size();
  const Fields fields(http.query);
  const auto run_in_turn = [&](const auto& work) { return bytes(queue_.run_in_turn(http.left, work)); };
  if (what == ".matrices")
    return run_in_turn(
        [&](Context& ctx) { return head_matrices(ctx, run, head.part, head.layer, head.head); });
  if (what == ".map") {
    const MapWindow window = parse_window(http.query);
    if (window.rows.end > queries || window.columns.end > keys) throw BadRequest{"there are fewer tokens"};
    if (static_cast<std::size_t>(window.cells()) > kMostCells) return failure(413);
    return run_in_turn([&](Context& ctx) { return map_window(ctx, run, head, window); });
  }
  if (what != ".bin") throw BadRequest{"there is no such head"};
  std::optional<Index> query;
  if (!fields.text("query", "").empty()) query = fields.integer("query");
  if (query && *query >= queries) throw BadRequest{"there is no such query"};
  if (!query && static_cast<std::size_t>(queries * keys) > kMostWeights) return failure(413);
  return run_in_turn([&](Context& ctx) { return head_numbers(ctx, run, head, query); });
}

// An error after the first line is sent as the last line.
Answer Api::write(const HttpRequest& http, std::shared_ptr<const KeptRun> run) {
  const models::SamplingOptions options = parse_sampling(http.body, kMostWritten);
  check_writes(*run);
  Answer answer{.type = "application/x-ndjson"};
  answer.stream = [this, options, left = http.left, kept = std::move(run)](const Send& send) {
    const Answer last = guarded([&] {
      writing_.run_in_turn(left, [&](Context& ctx) {
        write_on(ctx, *kept, options, left, send);
        return 0;
      });
      return Answer{.body = ""};
    });
    if (!last.body.empty()) (void)send(last.body);
  };
  return answer;
}

Answer Api::next_token(const HttpRequest& http, const KeptRun& run) {
  const models::SamplingOptions options = parse_sampling(http.body);
  return run_of(
      http, queue_.run_in_turn(http.left, [&](Context& ctx) { return with_next_token(ctx, run, options); }));
}

// The changed run is kept as a separate run: its weights are requested like those of any other.
Answer Api::change(const HttpRequest& http, const KeptRun& kept) {
  const ChangeRequest request = parse_change(http.body, kept.run);
  check_predictions(kept.run);
  return json(queue_.run_in_turn(http.left, [&](Context& ctx) {
    const std::string id = request.id(kept.id);
    auto changed = runs_.find(id);
    if (!changed) {
      ChangedRun made = attend_changed(ctx, kept.run, request.plan, {.cancelled = http.left});
      changed = std::make_shared<const KeptRun>(
          KeptRun{id, kept.request, std::move(made.run), {}, made.mean_sentences});
      runs_.keep(changed);
    }
    AblationEffect effect = effect_between(ctx, kept.run, changed->run, {.position = request.position});
    effect.mean_sentences = changed->mean_sentences;
    return effect_json(kept.run.model(), id, effect);
  }));
}

// Some heads, each removed once. Requested in small numbers, so that other requests are not delayed and stopping is fast.
Answer Api::sweep_some(const HttpRequest& http, const Run& run) {
  const SweepOptions options = parse_sweep(http.body, run);
  check_predictions(run);
  return json(queue_.run_in_turn(http.left, [&](Context& ctx) {
    return sweep_json(run.model(), sweep(ctx, run, options, {.cancelled = http.left}));
  }));
}

Answer Api::labels(const HttpRequest& http, const KeptRun& kept) {
  const Part part = part_field(http.query, kept.run);
  LabelCache::Labels found = labels_.find(kept.id);
  if (!found) {
    found = queue_.run_in_turn(http.left, [&](Context& ctx) {
      const Prompt prompt = prompt_of(kept.run.model(), kept.request);
      LabelRequest request{.similar_to = compared_heads(kept.run.model().info())};
      request.progress.cancelled = http.left;
      return std::make_shared<const HeadLabels>(
          label_heads(ctx, kept.run.model(), std::span(&prompt, 1), request));
    });
    labels_.keep(kept.id, found);
  }
  return json(labels_json(kept.run.model().info(), *found, part));
}

Answer Api::lens(const HttpRequest& http, const KeptRun& kept) {
  const Index position = Fields(http.query).integer("position");
  if (position >= kept.run.positions()) throw BadRequest{"there is no such position"};
  return json(queue_.run_in_turn(http.left, [&](Context& ctx) {
    return lens_json(kept, position,
                     logit_lens(kept.run, position, kLensGuesses, ctx, {.cancelled = http.left}));
  }));
}

Answer Api::links(const HttpRequest& http, const Run& run) {
  const Part part = part_field(http.query, run);
  const std::string link = Fields(http.query).text("link", "");
  return json(queue_.run_in_turn(http.left, [&](Context& ctx) {
    return links_json(
        run, part, link,
        find_links(run, {.link = link, .part = part, .progress = {.cancelled = http.left}}, ctx));
  }));
}

// The view as one file, as written by headlight show --html.
Answer Api::saved_page(const HttpRequest& http, const KeptRun& kept) {
  OfflineOptions options;
  const Fields fields(http.query);
  options.part = part_field(http.query, kept.run);
  options.layer = fields.integer("layer");
  if (options.layer >= kept.run.model().info().find(options.part)->layers())
    throw BadRequest{"there is no such layer"};
  options.at = fields.text("at", "");
  {
    const std::lock_guard lock(slots_mutex_);
    for (const Slot& slot : slots_)
      if (slot.place.name == kept.request.model) options.model = slot.place.argument;
  }
  Answer answer{.type = "text/html; charset=utf-8"};
  answer.body = queue_.run_in_turn(http.left, [&](Context& ctx) { return offline_page(ctx, kept, options); });
  answer.headers.emplace_back("Content-Disposition", "attachment; filename=\"headlight.html\"");
  return answer;
}

Answer Api::figure(const HttpRequest& http, const KeptRun& kept) {
  const Run& run = kept.run;
  const FileRequest request = parse_figure(http.query);
  const PartInfo* part = run.model().info().find(request.part());
  if (part == nullptr || !run.has(request.part()) || request.head().layer >= part->layers() ||
      request.head().head >= part->heads[static_cast<std::size_t>(request.head().layer)])
    throw BadRequest{"there is no such head"};
  if (request.view.from.end > run.queries(request.part()).size() ||
      request.view.to.end > run.keys(request.part()).size())
    throw BadRequest{"there are fewer tokens"};
  Answer answer = bytes(queue_.run_in_turn(http.left, [&](Context& ctx) {
    return file_of(ctx, run, request, !kept.request.target.empty(), {.cancelled = http.left});
  }));
  answer.type = media_type(request.form);
  answer.headers.emplace_back("Content-Disposition",
                              concat("attachment; filename=\"headlight-", request.head().layer, ".",
                                     request.head().head, ".", name_of(request.form), "\""));
  return answer;
}

}  // namespace headlight::serve
