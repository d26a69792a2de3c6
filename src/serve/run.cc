#include "serve/run.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/hash.h"

namespace headlight::serve {
namespace {

void check_length(Index tokens) {
  if (tokens <= kMostTokens) return;
  throw Error(ErrorKind::resource, "serve.length",
              concat("the text has ", tokens, " tokens; the page shows at most ", kMostTokens,
                     "\nheadlight show draws longer ones."));
}

const Tokenizer& tokenizer_of(const Model& model) {
  if (model.tokenizer() != nullptr) return *model.tokenizer();
  throw Error(ErrorKind::input, "serve.tokenizer",
              concat("\"", escaped(model.info().name), "\" has no tokenizer, so it cannot read a text"));
}

// Of long texts the page looks at one row alone, as all of them would take a while.
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

std::shared_ptr<const KeptRun> make_run(Context& ctx, const Model& model, const RunRequest& request,
                                        const std::function<bool()>& left) {
  // A text that is too long is refused before anything is computed.
  const Tokenizer& tokenizer = tokenizer_of(model);
  for (const std::string* text : {&request.text, &request.target})
    check_length(static_cast<Index>(tokenizer.encode(*text).size() + request.more.size()));
  AttendOptions options;
  options.draw = {request.temperature, request.top_k, static_cast<std::uint64_t>(request.seed)};
  options.progress.cancelled = left;
  Run run = attend(ctx, model,
                   {.text = request.text,
                    .target = request.target,
                    .second = request.second,
                    .continuation = request.more},
                   options);
  check_length(std::max(run.source().size(), run.target().size()));
  std::vector<FirstLook> looks = looks_of(ctx, run, left);
  return std::make_shared<const KeptRun>(KeptRun{request.id(), request, std::move(run), std::move(looks)});
}

RunRequest with_next_token(Context& ctx, const KeptRun& kept, const models::SamplingOptions& options) {
  if (kept.run.model().info().kind != ModelKind::decoder) {
    throw Error(ErrorKind::usage, "serve.next",
                "only a model that writes goes on with a text; a translator's translation is drawn whole");
  }
  RunRequest next = kept.request;
  const auto place = static_cast<Index>(next.more.size());
  const Index last = kept.run.positions() - 1;
  const Tensor logits = kept.run.logits({last, last + 1}, ctx);
  const ConstTensorView row(logits.as<float>(), Shape{logits.dim(1)});
  next.more.push_back(models::choose_token(row, options, 0, place));
  return next;
}

}  // namespace headlight::serve
