#include "models/text_loss.h"

#include <algorithm>
#include <numbers>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/team.h"
#include "headlight/error.h"
#include "models/generate.h"

namespace headlight::models {
namespace {

constexpr Index kUnboundedContext = 2048;  // for models without a limit
constexpr Index kBatchTokens = 4096;

// The start token, then the text; without an end token that the tokenizer adds.
std::vector<std::int32_t> with_start(const TransformerConfig& config, const Tokenizer& tokenizer,
                                     const std::string& text) {
  std::vector<TokenPiece> pieces = tokenizer.encode_pieces(text);
  if (!pieces.empty() && pieces.back().added && config.is_end(pieces.back().id)) pieces.pop_back();
  std::vector<std::int32_t> ids;
  const std::int32_t start = config.bos >= 0 ? config.bos : config.end();
  if (start >= 0 && (pieces.empty() || !pieces.front().added)) ids.push_back(start);
  for (const TokenPiece& piece : pieces) ids.push_back(piece.id);
  return ids;
}

// Thrown by the observer to stop a run.
struct StopRun {};

// Counts, layer by layer, the bytes of documents that the model has read.
class LossProgress : public Observer {
 public:
  LossProgress(const std::function<bool(double)>& report, double all, Index layers)
      : report_(report), all_(all), layers_(static_cast<double>(layers)) {}

  void on_attention(const AttentionEvent& event) override {
    tell(done_ + waiting_ * (event.layer + 1) / layers_);
  }
  void add(double bytes) { waiting_ += bytes; }
  void finish_batch() {
    done_ += waiting_;
    waiting_ = 0;
  }

 private:
  void tell(double bytes) const {
    if (report_ && !report_(std::min(1.0, bytes / all_))) throw StopRun{};
  }
  const std::function<bool(double)>& report_;
  double all_, layers_;
  double done_ = 0, waiting_ = 0;  // waiting for the next batch
};

// Consecutive windows of one document, run when there are enough of them.
class Windows {
 public:
  Windows(Context& ctx, const Transformer& model, Index context, LossProgress& progress)
      : ctx_(ctx), model_(model), context_(context), progress_(progress), batches_(ctx, [this](auto result) {
          const auto sum = value_of<Sum>(result);
          nats_ += sum.nats;
          tokens_ += sum.tokens;
        }) {}

  void add(const std::vector<std::int32_t>& ids, std::size_t bytes) {
    const auto last = static_cast<Index>(ids.size()) - 1;  // the last token is a target only
    Index asked = 0;                                       // inputs whose target counts
    for (Index begin = 0; asked < last; begin += std::max<Index>(1, context_ / 2)) {
      const Index end = std::min(begin + context_, last);
      batch_.input.append({ids.data() + begin, static_cast<std::size_t>(end - begin)});
      for (Index i = begin; i < end; ++i)
        batch_.targets.push_back(i < asked ? kIgnored : ids[static_cast<std::size_t>(i + 1)]);
      progress_.add(static_cast<double>(bytes) * static_cast<double>(end - asked) /
                    static_cast<double>(last));
      asked = end;
      if (batch_.input.size() >= kBatchTokens) run();
    }
  }
  void run() {
    if (batch_.input.size() == 0) return;
    batches_.add([&] {
      const Loss loss = model_.evaluate(ctx_, batch_, {.observer = &progress_});
      return bytes_of(Sum{loss.plain, loss.targets});
    });
    progress_.finish_batch();
    batch_ = {};
  }
  void finish() {
    run();
    batches_.finish();
  }
  [[nodiscard]] double nats() const { return nats_; }
  [[nodiscard]] Index tokens() const { return tokens_; }

 private:
  struct Sum {
    double nats;
    Index tokens;
  };
  Context& ctx_;
  const Transformer& model_;
  Index context_;
  LossProgress& progress_;
  SharedItems batches_;
  Batch batch_;
  double nats_ = 0;
  Index tokens_ = 0;
};

}  // namespace

double TextLoss::bits_per_byte() const { return per_byte() / std::numbers::ln2; }

std::optional<TextLoss> text_loss(Context& ctx, const Transformer& model, const Tokenizer& tokenizer,
                                  std::span<const std::string> documents, const TextLossOptions& options) {
  const CallScope scope(ctx);
  const TransformerConfig& config = model.config();
  if (config.kind != ModelKind::decoder || config.head.absent) {
    throw Error(ErrorKind::usage, "evaluate.kind",
                "evaluate: the model does not predict the next token; use a decoder");
  }
  const Index limit = context_of(config) > 0 ? context_of(config) : kUnboundedContext;
  if (options.context > limit && context_of(config) > 0) {
    throw Error(
        ErrorKind::usage, "evaluate.context",
        concat("evaluate: a context of ", options.context, " tokens; the model reads at most ", limit));
  }
  TextLoss loss;
  for (const std::string& document : documents) loss.bytes += static_cast<Index>(document.size());
  loss.documents = static_cast<Index>(documents.size());
  LossProgress progress(options.on_progress, static_cast<double>(std::max<Index>(loss.bytes, 1)),
                        static_cast<Index>(config.decoder.size()));
  Windows windows(ctx, model, options.context > 0 ? options.context : limit, progress);
  try {
    for (const std::string& document : documents)
      windows.add(with_start(config, tokenizer, document), document.size());
    windows.finish();
  } catch (const StopRun&) { return std::nullopt; }
  loss.nats = windows.nats();
  loss.tokens = windows.tokens();
  return loss;
}

}  // namespace headlight::models
