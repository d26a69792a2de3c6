#include "serve/run.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "inspect/recorder.h"
#include "io/hash.h"
#include "serve/requests.h"

namespace headlight::serve {
namespace {

void check_length(Index tokens) {
  if (tokens <= kMostTokens) return;
  throw Error(ErrorKind::resource, "serve.length",
              concat("the text has ", tokens, " tokens; the page shows at most ", kMostTokens,
                     "\nheadlight show draws longer ones."));
}

// A model without a tokenizer reads token ids, separated by blanks or commas.
std::vector<std::int32_t> ids_of(const Model& model, std::string_view text) {
  std::vector<std::int32_t> ids;
  const auto is_blank = [](char c) { return c == ' ' || c == ',' || c == '\n' || c == '\t'; };
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_blank(text[end])) ++end;
    const auto id = parse_count(text.substr(at, end - at));
    if (!id || *id >= model.info().vocabulary)
      throw Error(
          ErrorKind::input, "serve.ids",
          concat("\"", escaped(model.info().name), "\" has no tokenizer, so it reads token ids from 0 to ",
                 model.info().vocabulary - 1, ", such as 0 1 2; found \"",
                 escaped(std::string(text.substr(at, std::min<std::size_t>(end - at, 20)))), "\""));
    ids.push_back(static_cast<std::int32_t>(*id));
    at = end;
  }
  return ids;
}

// For long texts the page requests a single row, because all rows would take too long.
constexpr Index kMostLookedAt = 1'500'000;
std::vector<FirstLook> looks_of(Context& ctx, const Run& run, const std::function<bool()>& left) {
  std::vector<FirstLook> looks;
  for (const Part part : run.parts()) {
    Index heads = 0;
    for (const Index count : run.model().info().find(part)->heads) heads += count;
    const Index queries = run.queries(part).size(), keys = run.keys(part).size();
    if (run.queries(part).words.empty() || run.keys(part).words.empty() ||
        heads * queries * keys > kMostLookedAt)
      continue;
    LookRequest request{.part = part};
    request.progress.cancelled = left;
    looks.push_back(first_look(run, request, ctx));
  }
  return looks;
}

}  // namespace

std::string RunRequest::id() const {
  std::string all = concat(kVersion, '\0', model, '\0', text, '\0', second, '\0', target, '\0', temperature,
                           '\0', top_k, '\0', seed);
  for (const std::int32_t token : more) all += concat(",", token);
  return io::hash_text(all);
}

Prompt prompt_of(const Model& model, const RunRequest& request) {
  Prompt prompt{.second = request.second, .continuation = request.more};
  if (const Tokenizer* tokenizer = model.tokenizer(); tokenizer != nullptr) {
    prompt.text = request.text;
    prompt.target = request.target;
    // A text that is too long is refused before anything is computed.
    for (const std::string* text : {&request.text, &request.target})
      check_length(static_cast<Index>(tokenizer->encode(*text).size() + request.more.size()));
    return prompt;
  }
  prompt.ids = ids_of(model, request.text);
  prompt.target_ids = ids_of(model, request.target);
  check_length(static_cast<Index>(prompt.ids.size() + request.more.size()));
  return prompt;
}

std::shared_ptr<const KeptRun> make_run(Context& ctx, const Model& model, const RunRequest& request,
                                        const std::function<bool()>& left) {
  AttendOptions options;
  inspect::ExpertsRecorder experts;
  options.draw = {request.temperature, request.top_k, static_cast<std::uint64_t>(request.seed)};
  options.observer = &experts;
  options.progress.cancelled = left;
  Run run = attend(ctx, model, prompt_of(model, request), options);
  check_length(std::max(run.source().size(), run.target().size()));
  std::vector<FirstLook> looks = looks_of(ctx, run, left);
  return std::make_shared<const KeptRun>(
      KeptRun{request.id(), request, std::move(run), std::move(looks), 0, experts.layers()});
}

void check_writes(const KeptRun& kept) {
  if (kept.run.model().info().kind == ModelKind::decoder) return;
  throw Error(ErrorKind::usage, "serve.next",
              "only decoders continue a text; a translator generates whole translations");
}

RunRequest with_next_token(Context& ctx, const KeptRun& kept, const models::SamplingOptions& options) {
  check_writes(kept);
  RunRequest next = kept.request;
  const auto place = static_cast<Index>(next.more.size());
  const Index last = kept.run.positions() - 1;
  const Tensor logits = kept.run.logits({last, last + 1}, ctx);
  const ConstTensorView row(logits.as<float>(), Shape{logits.dim(1)});
  next.more.push_back(models::choose_token(row, options, 0, place));
  return next;
}

}  // namespace headlight::serve
