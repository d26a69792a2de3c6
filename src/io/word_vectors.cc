#include "io/word_vectors.h"

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json.h"

namespace headlight::io {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::size_t kMostWords = 256, kMostNumbers = 256;
constexpr double kLargest = 1e6;  // keeps every score and weight finite

[[noreturn]] void refuse(const Json& root, const std::string& what) {
  throw Error(ErrorKind::input, "words.json", concat(escaped(root.file()), ": ", what));
}

std::vector<std::string> words_of(const Json& root, const Json& list) {
  if (!list.is(Json::Kind::list)) refuse(root, "\"tokens\" is not a list");
  if (list.items().empty()) refuse(root, "there must be at least one token (tokens)");
  if (list.items().size() > kMostWords) refuse(root, concat("more than ", kMostWords, " tokens (tokens)"));
  std::vector<std::string> words;
  for (const Json& item : list.items()) {
    if (!item.is(Json::Kind::text) || item.text().empty()) {
      refuse(root, concat("token ", words.size() + 1, " is not a text of at least one character (tokens)"));
    }
    words.push_back(item.text());
  }
  return words;
}

void add_vector(const Json& root, const Json& list, std::size_t row, std::vector<double>& all) {
  if (!list.is(Json::Kind::list)) refuse(root, concat("vector ", row, " is not a list (vectors)"));
  if (list.items().size() > kMostNumbers)
    refuse(root, concat("vector ", row, " has more than ", kMostNumbers, " numbers (vectors)"));
  std::size_t number = 0;
  for (const Json& item : list.items()) {
    ++number;
    const bool known = item.is(Json::Kind::integer) || item.is(Json::Kind::real);
    if (!known || !(std::abs(item.real()) <= kLargest)) {
      refuse(root,
             concat("vector ", row, ", number ", number, " is not a number from -1e6 to 1e6 (vectors)"));
    }
    all.push_back(item.real());
  }
}

Tensor vectors_of(const Json& root, const Json& list, std::size_t words) {
  if (!list.is(Json::Kind::list)) refuse(root, "\"vectors\" is not a list");
  const std::size_t rows = list.items().size();
  if (rows != words) refuse(root, concat(words, " tokens but ", rows, " vectors; need one vector per token"));
  std::vector<double> all;
  const std::size_t width = list.items().front().items().size();
  for (std::size_t row = 0; row < rows; ++row) {
    const Json& vector = list.items()[row];
    add_vector(root, vector, row + 1, all);
    if (vector.items().size() != width) {
      refuse(root, concat("vector ", row + 1, " has ", vector.items().size(), " numbers, vector 1 has ",
                          width, " (vectors)"));
    }
  }
  if (width == 0) refuse(root, "vectors need at least one number (vectors)");
  return Tensor::from(all, {static_cast<Index>(rows), static_cast<Index>(width)}, DType::f64);
}

WordVectors words_from(const Json& root) {
  if (!root.is(Json::Kind::object)) refuse(root, "expected an object with \"tokens\" and \"vectors\"");
  for (const std::string& key : root.keys()) {
    if (key != "tokens" && key != "vectors") {
      refuse(root,
             concat("unknown entry \"", escaped(key, 40), "\"; only \"tokens\" and \"vectors\" are read"));
    }
  }
  WordVectors result;
  result.words = words_of(root, root.at("tokens"));
  result.x = vectors_of(root, root.at("vectors"), result.words.size());
  return result;
}

}  // namespace

WordVectors parse_word_vectors(std::string_view bytes, const std::string& name) {
  return words_from(Json::parse(bytes, name));
}
WordVectors read_word_vectors(const std::string& path) { return words_from(Json::read(path, kMostBytes)); }

}  // namespace headlight::io
