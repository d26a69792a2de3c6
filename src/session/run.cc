#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/predict.h"
#include "session/state.h"

namespace headlight {
namespace {

using session::RunContext;
using session::StoredAttention;

// The requested range, or all of it.
Range within(Range asked, Index size, std::string_view what) {
  if (asked.size() == 0) return {0, size};
  if (asked.begin >= 0 && asked.begin < asked.end && asked.end <= size) return asked;
  throw Error(
      ErrorKind::usage, "run.range",
      concat(what, " ", asked.begin, " to ", asked.end - 1, ": there are ", what, " 0 to ", size - 1));
}

// Products with matrices in mapped files sum in another order for at most eight rows. Adding a few rows gives
// the requested rows the same bits as among all rows.
Range product_rows(Range asked, Index all) {
  constexpr Index least = 9;
  if (asked.size() >= least || all < least) return all < least ? Range{0, all} : asked;
  const Index begin = std::min(asked.begin, all - least);
  return {begin, std::max(asked.end, begin + least)};
}

}  // namespace

const StoredAttention* RunState::find(Part part, Index layer) const noexcept {
  for (const auto& attention : attentions)
    if (attention->part() == part && attention->layer() == layer) return attention.get();
  return nullptr;
}

TokenId RunState::actual_token(Index position) const {
  const ModelKind kind = model.info().kind;
  const bool writes = kind == ModelKind::encoder_decoder && !target.tokens.empty();
  const TokenizedText& text = writes ? target : kind == ModelKind::encoder_decoder ? decoder_input : source;
  const bool is_next = kind != ModelKind::encoder && !writes;
  const Index at = is_next ? position + 1 : position;
  return at < text.size() ? text.tokens[static_cast<std::size_t>(at)].id : -1;
}

namespace session {

RunContext::RunContext(const RunState& run, Context& ctx) : given_(ctx) {
  if (ctx.target() == run.simd && ctx.activations() == run.activations) return;
  own_ = std::make_unique<Context>(
      ContextOptions{.threads = ctx.threads(), .target = run.simd, .activations = run.activations});
}

void check_part(const Run& run, Part part) {
  if (run.has(part)) return;
  throw Error(
      ErrorKind::usage, "run.part",
      concat("the run of \"", escaped(run.model().info().name), "\" has no ", name_of(part), " attention"));
}

void check_head(const ModelInfo& info, const Head& head) {
  const PartInfo* part = info.find(head.part);
  if (part != nullptr && head.layer >= 0 && head.layer < part->layers() && head.head >= 0 &&
      head.head < part->heads[static_cast<std::size_t>(head.layer)])
    return;
  throw Error(ErrorKind::usage, "run.head",
              part == nullptr
                  ? concat("\"", escaped(info.name), "\" has no ", name_of(head.part), " attention")
                  : concat("head ", head.layer, ".", head.head, ": the ", name_of(head.part),
                           " attention of \"", escaped(info.name), "\" has layers 0 to ", part->layers() - 1,
                           " and heads 0 to ", part->heads.front() - 1));
}

const StoredAttention& attention_of(const Run& run, const Head& head) {
  check_head(run.model().info(), head);
  check_part(run, head.part);
  return *run.state().find(head.part, head.layer);
}

Part part_of(const Run& run, const std::optional<Part>& asked) {
  const Part part = asked.value_or(run.model().state().usual_part());
  check_part(run, part);
  return part;
}

void replay(const Run& run, Part part, Index layer, Observer& observer, Context& ctx) {
  const RunContext own(run.state(), ctx);
  observer.on_attention(run.state().find(part, layer)->event(own));
}

void replay(const Run& run, Part part, Observer& observer, std::string_view what, const Progress& progress,
            Context& ctx) {
  const RunContext own(run.state(), ctx);
  const Index layers = run.model().info().find(part)->layers();
  for (Index layer = 0; layer < layers; ++layer) {
    progress.check();
    observer.on_attention(run.state().find(part, layer)->event(own));
    progress.tell(what, static_cast<double>(layer + 1), static_cast<double>(layers));
  }
}

}  // namespace session

const Model& Run::model() const noexcept { return state_->model; }
std::span<const Part> Run::parts() const noexcept { return state_->parts; }
bool Run::has(Part part) const noexcept {
  return std::find(state_->parts.begin(), state_->parts.end(), part) != state_->parts.end();
}
const TokenizedText& Run::source() const noexcept { return state_->source; }
const TokenizedText& Run::target() const noexcept { return state_->target; }

const TokenizedText& Run::queries(Part part) const {
  session::check_part(*this, part);
  if (part == Part::encoder || model().info().kind != ModelKind::encoder_decoder) return state_->source;
  // A row of cross-attention is labelled with the token that it generates, if known.
  return part == Part::cross && !state_->target.tokens.empty() ? state_->target : state_->decoder_input;
}

const TokenizedText& Run::keys(Part part) const {
  return part == Part::cross ? state_->source : queries(part);
}

Index Run::positions() const noexcept { return state_->has_logits ? state_->hidden.dim(0) : 0; }
ConstTensorView Run::hidden_states() const noexcept { return state_->hidden; }

const TokenizedText& Run::position_tokens() const noexcept {
  if (model().info().kind != ModelKind::encoder_decoder) return state_->source;
  return state_->target.tokens.empty() ? state_->decoder_input : state_->target;
}
bool Run::predicts_next() const noexcept {
  const ModelKind kind = model().info().kind;
  return kind == ModelKind::decoder || (kind == ModelKind::encoder_decoder && state_->target.tokens.empty());
}

Tensor Run::logits(Range positions, Context& ctx) const {
  if (this->positions() == 0)
    throw Error(
        ErrorKind::usage, "run.logits",
        concat("the run of \"", escaped(model().info().name), "\" has no logits: ",
               model().info().has_logits ? "only its encoder ran" : "its files have no prediction head"));
  const Range asked = within(positions, this->positions(), "positions"),
              rows = product_rows(asked, this->positions());
  const Tensor& hidden = state_->hidden;
  const auto offset = static_cast<std::size_t>(rows.begin * hidden.dim(1)) * size_of(hidden.dtype());
  const RunContext own(*state_, ctx);
  Tensor logits = state_->loaded().model->logits_of(
      own, ConstTensorView(hidden.as<std::byte>() + offset, hidden.dtype(), {rows.size(), hidden.dim(1)}));
  if (rows == asked) return logits;
  const auto row_bytes = static_cast<std::size_t>(logits.dim(1)) * size_of(logits.dtype());
  const auto skipped = static_cast<std::size_t>(asked.begin - rows.begin) * row_bytes;
  return session::copy_of({logits.as<std::byte>() + skipped, logits.dtype(), {asked.size(), logits.dim(1)}});
}

Prediction Run::prediction(Index position, Index count, Context& ctx) const {
  const Tensor row = logits({position, position + 1}, ctx);
  return inspect::predict({row.as<float>(), static_cast<std::size_t>(row.dim(1))}, count,
                          state_->actual_token(position));
}

Tensor Run::weights(const Head& head, Range queries, Range keys, Context& ctx) const {
  const StoredAttention& attention = session::attention_of(*this, head);
  const RunContext own(*state_, ctx);
  const AttentionEvent event = attention.event(own);
  const WeightSlice slice{.head = head.head,
                          .queries = within(queries, attention.queries(), "queries"),
                          .keys = within(keys, attention.keys(), "keys")};
  Tensor out = Tensor::uninitialized({slice.queries.size(), slice.keys.size()}, event.lse.dtype());
  attention_weights(own, event.q, event.k, event.lse, event.options, slice, out);
  return out;
}

Tensor Run::scores(const Head& head, Range queries, Range keys) const {
  const StoredAttention& attention = session::attention_of(*this, head);
  return inspect::scores_of(attention.event(default_context()), 0, head.head,
                            within(queries, attention.queries(), "queries"),
                            within(keys, attention.keys(), "keys"));
}

Tensor Run::values(const Head& head) const {
  const ConstTensorView v = session::attention_of(*this, head).one_head(head.head).v;
  return session::copy_of(ConstTensorView(v.data(), v.dtype(), {v.dim(2), v.dim(3)}));
}

HeadStatistics Run::statistics(const Head& head, Context& ctx) const {
  const StoredAttention& attention = session::attention_of(*this, head);
  const StoredAttention::OneHead one = attention.one_head(head.head);
  const RunContext own(*state_, ctx);
  const Index queries = attention.queries(), keys = attention.keys();
  const DType type = one.lse.dtype();
  Tensor entropy({1, 1, queries}, type), weight({1, 1, queries, 1}, type), received({1, 1, keys}, type);
  Tensor key({1, 1, queries, 1}, DType::i64);
  attention_statistics(own, one.q, one.k, one.lse, one.options,
                       {.entropy = entropy, .topk_index = key, .topk_weight = weight, .received = received});
  HeadStatistics out;
  for (Index i = 0; i < queries; ++i) {
    out.entropy.push_back(static_cast<float>(entropy.at(0, 0, i)));
    out.largest_weight.push_back(static_cast<float>(weight.at(0, 0, i, 0)));
    out.largest_key.push_back(static_cast<Index>(key.at(0, 0, i, 0)));
  }
  for (Index j = 0; j < keys; ++j) out.received.push_back(static_cast<float>(received.at(0, 0, j)));
  return out;
}

Tensor Run::heat_map(const Head& head, Index rows, Index columns, Pool pool, Context& ctx) const {
  const StoredAttention& attention = session::attention_of(*this, head);
  const RunContext own(*state_, ctx);
  const AttentionEvent event = attention.event(own);
  if (rows < 1 || columns < 1)
    throw Error(ErrorKind::usage, "run.cells", "a heat map needs at least one cell");
  Tensor map({std::min(rows, attention.queries()), std::min(columns, attention.keys())}, event.lse.dtype());
  attention_heat_map(own, event.q, event.k, event.lse, event.options,
                     {.head = head.head, .queries = {0, attention.queries()}, .keys = {0, attention.keys()}},
                     pool, map);
  return map;
}

void Run::replay(Observer& observer, Context& ctx) const {
  const RunContext own(*state_, ctx);
  for (const auto& attention : state_->attentions) observer.on_attention(attention->event(own));
}

std::size_t Run::bytes() const noexcept {
  std::size_t sum = state_->hidden.empty() ? 0
                                           : static_cast<std::size_t>(state_->hidden.shape().elements()) *
                                                 size_of(state_->hidden.dtype());
  for (const auto& attention : state_->attentions) sum += attention->bytes();
  return sum;
}

}  // namespace headlight
