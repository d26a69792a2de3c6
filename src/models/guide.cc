#include "models/guide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

[[noreturn]] void refuse_guide(const std::string& what) {
  throw Error(ErrorKind::usage, "model.guide", concat("guide: ", what));
}

double log_sum_exp(std::span<const double> scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - highest);
  return highest + std::log(sum);
}

// The sequences that have links, copied into separate matrices: the others have no gradient here.
class LinkedRows {
 public:
  LinkedRows(std::span<const Index> starts, std::span<const Link> links) : starts_(starts) {
    for (const Link& link : links) sequences_.push_back(sequence_of(link));
    std::sort(sequences_.begin(), sequences_.end());
    sequences_.erase(std::unique(sequences_.begin(), sequences_.end()), sequences_.end());
    for (const Index s : sequences_) {
      firsts_.push_back(size_);
      size_ += end(s) - begin(s);
    }
  }
  [[nodiscard]] Index sequence_of(const Link& link) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), link.query);
    if (after == starts_.begin() || after == starts_.end()) refuse_guide("a link begins outside the source");
    const Index s = after - starts_.begin() - 1;
    if (link.key_begin >= link.key_end || link.key_begin < begin(s) || link.key_end > end(s))
      refuse_guide("the keys of a link are not in the sequence of its query");
    return s;
  }
  [[nodiscard]] Index begin(Index s) const { return starts_[static_cast<std::size_t>(s)]; }
  [[nodiscard]] Index end(Index s) const { return starts_[static_cast<std::size_t>(s) + 1]; }
  [[nodiscard]] Index size() const { return size_; }
  // The row of a token of sequence s.
  [[nodiscard]] Index row(Index s, Index token) const {
    const auto at = std::lower_bound(sequences_.begin(), sequences_.end(), s) - sequences_.begin();
    return firsts_[static_cast<std::size_t>(at)] + token - begin(s);
  }
  // Calls visit(row, token) for all of them.
  template <class Visit>
  void each(const Visit& visit) const {
    Index row = 0;
    for (const Index s : sequences_)
      for (Index token = begin(s); token < end(s); ++token) visit(row++, token);
  }

 private:
  std::span<const Index> starts_;
  std::vector<Index> sequences_, firsts_;
  Index size_ = 0;
};

template <class T>
class LinkLearner {
 public:
  LinkLearner(const nn::MultiHeadAttentionConfig& config, const Tensor& projected, Index head)
      : dim_(config.head_dim),
        width_(config.heads * config.head_dim),
        stride_(projected.dim(1)),
        first_(head * config.head_dim),
        scale_(config.scale.value_or(1 / std::sqrt(static_cast<double>(config.head_dim)))),
        projected_(projected.as<T>()) {}

  // Adds to dq and dk, which have a row for each of `rows`; returns the loss.
  double learn(const LinkedRows& rows, const Link& link, double factor, T* dq, T* dk) {
    const Index s = rows.sequence_of(link), begin = rows.begin(s), end = rows.end(s);
    const T* query = projected_ + link.query * stride_ + first_;
    scores_.assign(static_cast<std::size_t>(end - begin), 0);
    for (Index j = begin; j < end; ++j) {
      const T* k = key(j);
      double score = 0;
      for (Index d = 0; d < dim_; ++d) score += static_cast<double>(query[d]) * static_cast<double>(k[d]);
      scores_[static_cast<std::size_t>(j - begin)] = score * scale_;
    }
    const std::span<const double> scores(scores_);
    const double all = log_sum_exp(scores);
    const auto at = static_cast<std::size_t>(link.key_begin - begin);
    const double wanted =
        log_sum_exp(scores.subspan(at, static_cast<std::size_t>(link.key_end - link.key_begin)));
    T* dquery = dq + rows.row(s, link.query) * width_ + first_;
    for (Index j = begin; j < end; ++j) {
      const double score = scores_[static_cast<std::size_t>(j - begin)];
      const bool right = j >= link.key_begin && j < link.key_end;
      const double d = factor * scale_ * (std::exp(score - all) - (right ? std::exp(score - wanted) : 0));
      const T* k = key(j);
      T* dkey = dk + rows.row(s, j) * width_ + first_;
      for (Index i = 0; i < dim_; ++i) {
        dquery[i] = static_cast<T>(static_cast<double>(dquery[i]) + d * static_cast<double>(k[i]));
        dkey[i] = static_cast<T>(static_cast<double>(dkey[i]) + d * static_cast<double>(query[i]));
      }
    }
    return all - wanted;
  }

 private:
  [[nodiscard]] const T* key(Index token) const { return projected_ + token * stride_ + width_ + first_; }

  Index dim_, width_, stride_, first_;
  double scale_;
  const T* projected_;  // [token, q | k | v]
  std::vector<double> scores_;
};

template <class T>
void learn(Context& ctx, nn::MultiHeadAttention& attention, const nn::MultiHeadAttention::Saved& saved,
           const ConstTensorView& x, const LinkedRows& rows, Guiding& guiding, const TensorView& dx) {
  const nn::MultiHeadAttentionConfig& config = attention.config();
  const DType dtype = x.dtype();
  const Index width = config.heads * config.head_dim;
  Tensor dq({rows.size(), width}, dtype), dk({rows.size(), width}, dtype);  // zeros
  LinkLearner<T> learner(config, saved.projected, guiding.guide.head);
  for (const Link& link : guiding.links)
    guiding.loss += learner.learn(rows, link, guiding.factor, dq.as<T>(), dk.as<T>());

  Tensor read = Tensor::uninitialized({rows.size(), config.width}, dtype),
         dread = Tensor::uninitialized(read.shape(), dtype);
  rows.each([&](Index row, Index token) {
    std::copy_n(static_cast<const T*>(x.data()) + token * x.stride(0), config.width,
                read.as<T>() + row * config.width);
  });
  attention.query.backward(ctx, read, dq, dread);
  attention.key.backward(ctx, read, dk, dread, nn::Linear::Write::add);
  rows.each([&](Index row, Index token) {
    T* to = static_cast<T*>(dx.data()) + token * dx.stride(0);
    const T* from = dread.as<T>() + row * config.width;
    for (Index i = 0; i < config.width; ++i) to[i] += from[i];
  });
}

}  // namespace

void check_guide(const TransformerConfig& c, const Guide& guide) {
  if (c.kind != ModelKind::encoder_decoder)
    refuse_guide("only an encoder-decoder's encoder has a head to guide");
  const auto layers = static_cast<Index>(c.encoder.size());
  if (guide.layer >= layers)
    refuse_guide(concat("no layer ", guide.layer, ": the encoder has ", layers, ", counted from 0"));
  const nn::BlockConfig& block = c.encoder[static_cast<std::size_t>(guide.layer)];
  const nn::MultiHeadAttentionConfig& a = block.attention;
  if (guide.head >= a.heads)
    refuse_guide(concat("no head ", guide.layer, ".", guide.head, ": the layer has ", a.heads,
                        " heads, counted from 0"));
  const bool shared_keys = a.kv_heads > 0 && a.kv_heads != a.heads;
  if (block.norm_place != nn::NormPlace::after || a.projections != nn::Projections::separate ||
      a.rope.has_value() || a.alibi || c.relative.has_value() || a.head_norm.has_value() || a.softcap > 0 ||
      a.sinks || a.disentangled.has_value() || shared_keys)
    refuse_guide(
        "guided attention needs the 2017 architecture: norms after each sublayer, added positions, and as "
        "many key heads as query heads");
}

void learn_links(Context& ctx, nn::MultiHeadAttention& attention, const nn::MultiHeadAttention::Saved& saved,
                 ConstTensorView x, std::span<const Index> starts, Guiding& guiding, TensorView dx) {
  const LinkedRows rows(starts, guiding.links);
  if (x.dtype() == DType::f64) learn<double>(ctx, attention, saved, x, rows, guiding, dx);
  else learn<float>(ctx, attention, saved, x, rows, guiding, dx);
}

}  // namespace headlight::models
