// The course of docs/learn in plain C++, without the library: each chapter is one function of a few lines. The course
// shows every number that this program prints.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

// [distance]
double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}
// [/distance]

// [dot]
double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
// [/dot]

// [softmax]
Vector softmax(const Vector& scores, double temperature = 1) {
  Vector weights;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score / temperature);
  for (const double score : scores) weights.push_back(std::exp(score / temperature) / sum);
  return weights;
}
// [/softmax]

// [weighted_sum]
Vector weighted_sum(const Vector& weights, const Matrix& vectors) {
  Vector out(vectors[0].size(), 0.0);
  for (std::size_t j = 0; j < vectors.size(); ++j)
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weights[j] * vectors[j][d];
  return out;
}

Vector attend(const Vector& query, const Matrix& keys, const Matrix& values) {
  Vector scores;
  for (const Vector& key : keys) scores.push_back(dot(query, key));
  return weighted_sum(softmax(scores), values);
}
// [/weighted_sum]

// [project]
// x times a table: the rows of the table, weighted by the numbers of x.
Vector project(const Vector& x, const Matrix& table) { return weighted_sum(x, table); }

Matrix project_all(const Matrix& words, const Matrix& table) {
  Matrix out;
  for (const Vector& word : words) out.push_back(project(word, table));
  return out;
}
// attend(project(word, Wq), project_all(words, Wk), project_all(words, Wv))
// [/project]

// [scaled]
Vector attend_scaled(Vector query, const Matrix& keys, const Matrix& values) {
  const double root = std::sqrt(static_cast<double>(query.size()));
  for (double& x : query) x /= root;  // divides every score by √d
  return attend(query, keys, values);
}
// [/scaled]

// [places]
Vector place(int p) { return {std::sin(p), std::cos(p)}; }
// dot(place(1), place(2)) == dot(place(101), place(102)) == cos(1), up to rounding
// [/places]

// [causal]
Matrix attend_causal(const Matrix& queries, const Matrix& keys, const Matrix& values) {
  Matrix out;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto seen = static_cast<std::ptrdiff_t>(i) + 1;  // itself and what comes before it
    const Matrix seen_keys(keys.begin(), keys.begin() + seen),
        seen_values(values.begin(), values.begin() + seen);
    out.push_back(attend(queries[i], seen_keys, seen_values));
  }
  return out;
}
// [/causal]

// [heads]
struct Head {
  Matrix wq, wk, wv;
};

Vector attend_with_heads(const Vector& word, const Matrix& words, const std::vector<Head>& heads) {
  Vector side_by_side;
  for (const Head& head : heads) {
    const Vector found =
        attend_scaled(project(word, head.wq), project_all(words, head.wk), project_all(words, head.wv));
    side_by_side.insert(side_by_side.end(), found.begin(), found.end());
  }
  return side_by_side;
}
// [/heads]

// [block]
Vector plus(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Vector norm(Vector x) {
  double mean = 0, variance = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x) variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  for (double& value : x) value = (value - mean) / std::sqrt(variance);
  return x;
}

Vector block(const Vector& word, const Vector& heads, const Matrix& wo, const Matrix& detectors,
             const Matrix& write) {
  const Vector x = plus(word, project(heads, wo));  // residual
  Vector hidden;
  for (const Vector& detector : detectors) hidden.push_back(std::max(0.0, dot(norm(x), detector)));  // ReLU
  return plus(x, project(hidden, write));  // residual
}
// [/block]

// [cross]
// Queries of the text being written, keys and values of the text being read.
Matrix cross_attend(const Matrix& french_queries, const Matrix& english_keys, const Matrix& english_values) {
  Matrix out;
  for (const Vector& query : french_queries)
    out.push_back(attend_scaled(query, english_keys, english_values));
  return out;
}
// [/cross]

// [beam]
struct Text {
  std::vector<int> tokens;
  double log_probability = 0;
};

// `next(tokens)` returns the probability of every token of the vocabulary.
template <class Model>
std::vector<Text> beam_step(const std::vector<Text>& beams, std::size_t keep, const Model& next) {
  std::vector<Text> all;
  for (const Text& text : beams) {
    const Vector probabilities = next(text.tokens);
    for (std::size_t token = 0; token < probabilities.size(); ++token) {
      Text longer = text;
      longer.tokens.push_back(static_cast<int>(token));
      longer.log_probability += std::log(probabilities[token]);
      all.push_back(longer);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Text& a, const Text& b) { return a.log_probability > b.log_probability; });
  all.resize(std::min(keep, all.size()));
  return all;
}
// [/beam]

// [descent]
double train(int steps, double rate) {
  double score = 0;  // of the right key; the wrong one has 0
  for (int step = 0; step < steps; ++step) {
    const double weight = softmax({score, 0})[0];
    score -= rate * (weight - 1);  // against the gradient of -ln(weight)
  }
  return score;
}
// [/descent]

// [knock_out]
double output_without(std::size_t key, Vector weights, const Vector& values, bool masked) {
  weights[key] = 0;
  double left = 0;
  for (const double w : weights) left += w;
  return dot(weights, values) / (masked ? left : 1);
}
// [/knock_out]

// [recurrent]
double read_one_by_one(const Vector& words, double kept) {
  double state = 0;
  for (const double word : words) state = kept * state + word;  // each step needs the one before it
  return state;
}
// [/recurrent]

// [online]
double attend_online(const Vector& scores, const Vector& values) {
  double largest = -INFINITY, sum = 0, out = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double top = std::max(largest, scores[j]);
    const double shrink = std::exp(largest - top), share = std::exp(scores[j] - top);
    sum = sum * shrink + share;
    out = out * shrink + share * values[j];
    largest = top;
  }
  return out / sum;
}
// [/online]

void print(const char* what, const Vector& numbers) {
  std::printf("%s", what);
  for (const double x : numbers) std::printf(" %.4f", x);
  std::printf("\n");
}

int main() {
  const Matrix words = {{0.43, 0.15, 0.89}, {0.55, 0.87, 0.66}, {0.57, 0.85, 0.64},
                        {0.22, 0.58, 0.33}, {0.77, 0.25, 0.10}, {0.05, 0.80, 0.55}};
  print("1 distance", {distance(words[1], words[4])});
  print("2 score", {dot(words[1], words[2])});
  print("3 weights", softmax({2, 1, 0}));
  print("4 context", attend(words[1], words, words));
  print("5 query", project({1, 2}, {{1, 0}, {0, 3}}));
  print("6 scaled", attend_scaled({112, 96}, {{8, 0}, {0, 8}}, {{1, 0}, {0, 1}}));
  print("7 places", {dot(place(1), place(2)), dot(place(101), place(102))});
  print("8 causal", attend_causal(words, words, words)[0]);
  const Matrix identity = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Vector two =
      attend_with_heads(words[1], words, {{identity, identity, identity}, {identity, identity, identity}});
  std::printf("9 two heads of 3 numbers give %zu\n", two.size());
  print("10 block", block({1, 2, 2, 3}, {2, 1}, {{0.5, -0.5, 0, 0}, {-1, 0, 1, 0}},
                          {{0, 0, 1, 1}, {1, 0, 0, -1}}, {{0.5, 0, -0.5, 0}, {0, 1, 0, -1}}));
  print("11 chat reads", cross_attend({{2, 1}}, {{0, 1}, {2, 0}, {1, -1}}, {{0, 0}, {1, 0}, {0, 1}})[0]);
  const auto model = [](const std::vector<int>& text) -> Vector {  // le, la; then chat, chatte
    if (text.empty()) return {0.6, 0.4};
    return text[0] == 0 ? Vector{0.5, 0.5} : Vector{0.1, 0.9};
  };
  const std::vector<Text> best = beam_step(beam_step({{}}, 2, model), 2, model);
  print("12 the best of two beams has", {std::exp(best[0].log_probability)});
  print("13 score after two steps", {train(2, 1)});
  print("14 without C", {output_without(2, {0.7, 0.2, 0.1}, {0.1, 5, 2}, true)});
  print("15 after 30 steps", {read_one_by_one(
                                 [] {
                                   Vector text(31, 0.0);
                                   text[0] = 1;
                                   return text;
                                 }(),
                                 0.9)});
  print("16 online", {attend_online({1, 3, 2}, {10, 20, 30})});
  return 0;
}
