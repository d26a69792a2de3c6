#include "models/writer.h"

#include <cstring>
#include <numeric>

#include "core/call_scope.h"
#include "headlight/error.h"
#include "models/generate.h"

namespace headlight::models {
namespace {

std::size_t row_bytes(const Tensor& rows) {
  return static_cast<std::size_t>(rows.dim(1)) * size_of(rows.dtype());
}

void copy_rows(const Tensor& from, Index first, Index count, Tensor& to, Index at) {
  const std::size_t bytes = row_bytes(from);
  std::memmove(to.as<std::byte>() + static_cast<std::size_t>(at) * bytes,
               from.as<std::byte>() + static_cast<std::size_t>(first) * bytes,
               static_cast<std::size_t>(count) * bytes);
}

}  // namespace

Writer::Facts TransformerWriter::facts() const {
  const TransformerConfig& c = model_.config();
  return {c.vocabulary, context_of(c), c.decoder_start, c.ends, c.writing};
}

// Keys of the source are shared by all slots of a sentence.
void TransformerWriter::branch(Index from, Index to) {
  for (KvCache& cache : decoding_.caches.self) cache.share_prefix(from, to, cache.length(from));
  if (!decoding_.written.empty())
    decoding_.written[static_cast<std::size_t>(to)] = decoding_.written[static_cast<std::size_t>(from)];
}

RecurrentWriter::RecurrentWriter(const RecurrentModel& model) : model_(model) {
  if (!model.config().encoder_decoder)
    throw Error(ErrorKind::usage, "model.recurrent", "this recurrent model has no encoder to read a source");
}

Writer::Facts RecurrentWriter::facts() const {
  const RecurrentModelConfig& c = model_.config();
  return {c.vocabulary, 0, c.decoder_start, c.eos < 0 ? std::vector<std::int32_t>{} : std::vector{c.eos}};
}

void RecurrentWriter::start(Context& ctx, const Tokens& source) {
  const CallScope scope(ctx);
  read_ = model_.read(ctx, source);
  sources_.resize(static_cast<std::size_t>(source.sequences()));
  std::iota(sources_.begin(), sources_.end(), Index{0});
  memory_.states.clear();
  for (const Tensor& states : read_.states) {
    memory_.states.push_back(Tensor::uninitialized(states.shape(), states.dtype()));
    copy_rows(states, 0, states.dim(0), memory_.states.back(), 0);
  }
  moved_ = true;
}

// Source rows are in the order of the slots, each with its whole source.
void RecurrentWriter::lay_out() {
  moved_ = false;
  if (!model_.config().attention) return;
  memory_.source_starts = {0};
  for (const Index s : sources_) {
    const auto at = static_cast<std::size_t>(s);
    memory_.source_starts.push_back(memory_.source_starts.back() + read_.source_starts[at + 1] -
                                    read_.source_starts[at]);
  }
  memory_.source =
      Tensor::uninitialized({memory_.source_starts.back(), read_.source.dim(1)}, read_.source.dtype());
  for (std::size_t place = 0; place < sources_.size(); ++place) {
    const Index first = read_.source_starts[static_cast<std::size_t>(sources_[place])];
    const Index begin = memory_.source_starts[place];
    copy_rows(read_.source, first, memory_.source_starts[place + 1] - begin, memory_.source, begin);
  }
}

Tensor RecurrentWriter::next(Context& ctx, const Tokens& tokens) {
  const CallScope scope(ctx);
  if (moved_) lay_out();
  return model_.next(ctx, memory_, tokens);
}

void RecurrentWriter::spread(Index copies) {
  const Index count = places();
  for (Tensor& states : memory_.states) {
    Tensor wider = Tensor::uninitialized({count * copies, states.dim(1)}, states.dtype());
    for (Index c = 0; c < copies; ++c) copy_rows(states, 0, count, wider, c * count);
    states = std::move(wider);
  }
  for (Index c = 1; c < copies; ++c)
    for (Index i = 0; i < count; ++i) sources_.push_back(sources_[static_cast<std::size_t>(i)]);
  moved_ = moved_ || copies > 1;
}

void RecurrentWriter::copy(Index from, Index to) {
  for (Tensor& states : memory_.states) copy_rows(states, from, 1, states, to);
  Index& source = sources_[static_cast<std::size_t>(to)];
  moved_ = moved_ || source != sources_[static_cast<std::size_t>(from)];
  source = sources_[static_cast<std::size_t>(from)];
}

void RecurrentWriter::keep(Index count) {
  moved_ = moved_ || count < places();
  sources_.resize(static_cast<std::size_t>(count));
  for (Tensor& states : memory_.states) {
    Tensor fewer = Tensor::uninitialized({count, states.dim(1)}, states.dtype());
    copy_rows(states, 0, count, fewer, 0);
    states = std::move(fewer);
  }
}

}  // namespace headlight::models
