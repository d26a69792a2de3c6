#include "lab/worked_example.h"

#include <cmath>
#include <random>

#include "headlight/attention.h"

namespace headlight::lab {
namespace {

Tensor matrix(Index rows, Index cols) { return Tensor({rows, cols}, DType::f64); }

// [rows, inner] · [inner, cols]
Tensor product(const Tensor& a, const Tensor& b) {
  Tensor out = matrix(a.dim(0), b.dim(1));
  for (Index i = 0; i < a.dim(0); ++i) {
    for (Index j = 0; j < b.dim(1); ++j) {
      double sum = 0;
      for (Index d = 0; d < a.dim(1); ++d) sum += a.at(i, d) * b.at(d, j);
      out.view().set(i, j, sum);
    }
  }
  return out;
}

// The parameters that PyTorch draws for the same seed, so that numbers printed elsewhere can be
// compared: Mersenne Twister, 24 bits a number, all in float32.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  // torch.rand(rows, cols)
  Tensor uniform(Index rows, Index cols) {
    Tensor w = matrix(rows, cols);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) w.view().set(i, j, next());
    }
    return w;
  }
  // The weight of torch.nn.Linear(in, out), which is stored [out, in]; returned as [in, out].
  Tensor linear(Index in, Index out) {
    Tensor w = matrix(in, out);
    for (Index o = 0; o < out; ++o) {
      for (Index i = 0; i < in; ++i) w.view().set(i, o, within(in));
    }
    return w;
  }
  // Its bias.
  Tensor bias(Index in, Index out) {
    Tensor b({out}, DType::f64);
    for (Index o = 0; o < out; ++o) b.view().set(o, within(in));
    return b;
  }

 private:
  float next() { return static_cast<float>(random_() & 0xFFFFFFU) * 0x1p-24F; }
  float within(Index in) {
    const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(in)));
    return next() * (bound + bound) - bound;
  }
  std::mt19937 random_;
};

Tensor columns(const Tensor& all, Index first, Index count) {
  Tensor out = matrix(all.dim(0), count);
  for (Index i = 0; i < all.dim(0); ++i) {
    for (Index j = 0; j < count; ++j) out.view().set(i, j, all.at(i, first + j));
  }
  return out;
}

void draw_parameters(const Recipe& recipe, Index embedding, Trace& t) {
  Draw draw(recipe.seed);
  const Index width = recipe.parameters == Parameters::shared ? std::max<Index>(1, 2 / recipe.heads) : 2;
  t.head_dim = width;
  if (recipe.parameters == Parameters::shared) {
    const Index all = width * recipe.heads;
    const Tensor wq = draw.linear(embedding, all), wk = draw.linear(embedding, all),
                 wv = draw.linear(embedding, all);
    for (std::size_t h = 0; h < t.heads.size(); ++h) {
      const Index first = static_cast<Index>(h) * width;
      t.heads[h].wq = columns(wq, first, width);
      t.heads[h].wk = columns(wk, first, width);
      t.heads[h].wv = columns(wv, first, width);
    }
    t.wo = draw.linear(all, all);
    t.bias = draw.bias(all, all);
    return;
  }
  for (HeadTrace& head : t.heads) {
    for (Tensor* w : {&head.wq, &head.wk, &head.wv}) {
      *w = recipe.parameters == Parameters::uniform ? draw.uniform(embedding, width)
                                                    : draw.linear(embedding, width);
    }
  }
}

void project(const Sentence& sentence, HeadTrace& head) {
  if (head.wq.empty()) {
    head.q = sentence.x.clone();
    head.k = sentence.x.clone();
    head.v = sentence.x.clone();
    return;
  }
  head.q = product(sentence.x, head.wq);
  head.k = product(sentence.x, head.wk);
  head.v = product(sentence.x, head.wv);
}

void score(const Recipe& recipe, double scale, HeadTrace& head) {
  const Index words = head.q.dim(0);
  head.scores = matrix(words, words);
  head.scaled = matrix(words, words);
  head.exps = matrix(words, words);
  head.sums = Tensor({words}, DType::f64);
  for (Index i = 0; i < words; ++i) {
    double exps = 0;
    for (Index j = 0; j < words; ++j) {
      double sum = 0;
      for (Index d = 0; d < head.q.dim(1); ++d) sum += head.q.at(i, d) * head.k.at(j, d);
      head.scores.view().set(i, j, sum);
      head.scaled.view().set(i, j, sum * scale);
      const double exp = recipe.causal && j > i ? 0 : std::exp(sum * scale);
      head.exps.view().set(i, j, exp);
      exps += exp;
    }
    head.sums.view().set(i, exps);
  }
}

// One call for all heads, of the public function.
void attend(const Recipe& recipe, Trace& t) {
  const auto heads = static_cast<Index>(t.heads.size());
  const Index words = t.heads[0].q.dim(0), dim = t.head_dim;
  const Shape shape{1, heads, words, dim};
  Tensor q(shape, DType::f64), k(shape, DType::f64), v(shape, DType::f64), out(shape, DType::f64);
  Tensor weights({1, heads, words, words}, DType::f64);
  for (Index h = 0; h < heads; ++h) {
    const HeadTrace& head = t.heads[static_cast<std::size_t>(h)];
    for (Index i = 0; i < words; ++i) {
      for (Index d = 0; d < dim; ++d) {
        q.view().set(0, h, i, d, head.q.at(i, d));
        k.view().set(0, h, i, d, head.k.at(i, d));
        v.view().set(0, h, i, d, head.v.at(i, d));
      }
    }
  }
  AttentionOptions options;
  options.scale = t.scale;
  if (recipe.causal) options.visible = Visibility::causal();
  AttentionOutputs outputs;
  outputs.out = out;
  outputs.weights = weights;
  Context context({.threads = 1});
  attention_forward(context, q.view(), k.view(), v.view(), options, outputs);

  t.context = matrix(words, heads * dim);
  for (Index h = 0; h < heads; ++h) {
    HeadTrace& head = t.heads[static_cast<std::size_t>(h)];
    head.weights = matrix(words, words);
    head.context = matrix(words, dim);
    for (Index i = 0; i < words; ++i) {
      for (Index j = 0; j < words; ++j) head.weights.view().set(i, j, weights.at(Index{0}, h, i, j));
      for (Index d = 0; d < dim; ++d) {
        head.context.view().set(i, d, out.at(Index{0}, h, i, d));
        t.context.view().set(i, h * dim + d, out.at(Index{0}, h, i, d));
      }
    }
  }
}

}  // namespace

Sentence journey() {
  Sentence s;
  s.words = {"Your", "journey", "starts", "with", "one", "step"};
  const std::vector<double> x = {0.43, 0.15, 0.89, 0.55, 0.87, 0.66, 0.57, 0.85, 0.64,
                                 0.22, 0.58, 0.33, 0.77, 0.25, 0.10, 0.05, 0.80, 0.55};
  s.x = Tensor::from(x, {6, 3}, DType::f64);
  return s;
}

Trace trace(const Sentence& sentence, const Recipe& recipe) {
  Trace t;
  t.heads.resize(static_cast<std::size_t>(recipe.heads));
  t.head_dim = sentence.x.dim(1);
  if (recipe.parameters != Parameters::none) {
    draw_parameters(recipe, sentence.x.dim(1), t);
    t.scale = 1 / std::sqrt(static_cast<double>(t.head_dim));
  }
  for (HeadTrace& head : t.heads) {
    project(sentence, head);
    score(recipe, t.scale, head);
  }
  attend(recipe, t);
  if (!t.wo.empty()) {
    t.out = product(t.context, t.wo);
    for (Index i = 0; i < t.out.dim(0); ++i) {
      for (Index o = 0; o < t.out.dim(1); ++o) t.out.view().set(i, o, t.out.at(i, o) + t.bias.at(o));
    }
  }
  return t;
}

}  // namespace headlight::lab
