#include "io/word_vectors.h"

#include <simdjson.h>

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::io {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::size_t kMostWords = 256, kMostNumbers = 256, kDepth = 8;
constexpr double kLargest = 1e6;  // keeps every score and weight finite

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  WordVectors read() {
    const std::vector<std::byte> bytes = read_file(path_, kMostBytes);
    if (bytes.empty()) refuse("is not valid JSON: the file is empty");
    simdjson::dom::parser parser;
    if (parser.allocate(std::max<std::size_t>(bytes.size(), 64), kDepth) != simdjson::SUCCESS)
      throw std::bad_alloc();
    simdjson::dom::element root;
    const auto problem = parser.parse(reinterpret_cast<const char*>(bytes.data()), bytes.size()).get(root);
    if (problem == simdjson::MEMALLOC) throw std::bad_alloc();
    if (problem != simdjson::SUCCESS) refuse(concat("is not valid JSON: ", simdjson::error_message(problem)));
    simdjson::dom::object object;
    if (root.get(object) != simdjson::SUCCESS) refuse("expected an object with \"tokens\" and \"vectors\"");
    read_object(object);
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::input, "words.json", concat(escaped(path_), ": ", what));
  }

  void read_object(simdjson::dom::object object) {
    simdjson::dom::element tokens, vectors;
    bool have_tokens = false, have_vectors = false;
    for (const simdjson::dom::key_value_pair field : object) {
      const bool is_tokens = field.key == "tokens";
      if (!is_tokens && field.key != "vectors") {
        refuse(concat("unknown entry \"", escaped(field.key, 40),
                      "\"; only \"tokens\" and \"vectors\" are read"));
      }
      bool& have = is_tokens ? have_tokens : have_vectors;
      if (have) refuse(concat("\"", field.key, "\" is there twice"));
      have = true;
      (is_tokens ? tokens : vectors) = field.value;
    }
    if (!have_tokens || !have_vectors)
      refuse(concat("\"", have_tokens ? "vectors" : "tokens", "\" is missing"));
    read_tokens(tokens);
    read_vectors(vectors);
  }

  void read_tokens(simdjson::dom::element element) {
    simdjson::dom::array list;
    if (element.get(list) != simdjson::SUCCESS) refuse("\"tokens\" is not a list");
    for (const simdjson::dom::element item : list) {
      std::string_view text;
      if (item.get(text) != simdjson::SUCCESS || text.empty()) {
        refuse(
            concat("token ", result_.words.size() + 1, " is not a text of at least one character (tokens)"));
      }
      result_.words.emplace_back(text);
      if (result_.words.size() > kMostWords) refuse(concat("more than ", kMostWords, " tokens (tokens)"));
    }
    if (result_.words.empty()) refuse("there must be at least one token (tokens)");
  }

  void read_vectors(simdjson::dom::element element) {
    simdjson::dom::array list;
    if (element.get(list) != simdjson::SUCCESS) refuse("\"vectors\" is not a list");
    std::vector<double> all;
    std::size_t rows = 0, width = 0;
    for (const simdjson::dom::element item : list) {
      const std::size_t before = all.size();
      read_vector(item, ++rows, all);
      if (rows == 1) width = all.size();
      if (all.size() - before != width) {
        refuse(concat("vector ", rows, " has ", all.size() - before, " numbers, vector 1 has ", width,
                      " (vectors)"));
      }
    }
    if (rows != result_.words.size()) {
      refuse(concat(result_.words.size(), " tokens but ", rows, " vectors; need one vector per token"));
    }
    if (width == 0) refuse("vectors need at least one number (vectors)");
    result_.x = Tensor::from(all, {static_cast<Index>(rows), static_cast<Index>(width)}, DType::f64);
  }

  void read_vector(simdjson::dom::element element, std::size_t row, std::vector<double>& all) const {
    simdjson::dom::array list;
    if (element.get(list) != simdjson::SUCCESS) refuse(concat("vector ", row, " is not a list (vectors)"));
    const std::size_t before = all.size();
    for (const simdjson::dom::element item : list) {
      double number = 0;
      if (item.get(number) != simdjson::SUCCESS || !(std::abs(number) <= kLargest)) {
        refuse(concat("vector ", row, ", number ", all.size() - before + 1,
                      " is not a number from -1e6 to 1e6 (vectors)"));
      }
      all.push_back(number);
      if (all.size() - before > kMostNumbers)
        refuse(concat("vector ", row, " has more than ", kMostNumbers, " numbers (vectors)"));
    }
  }

  const std::string& path_;
  WordVectors result_;
};

}  // namespace

WordVectors read_word_vectors(const std::string& path) { return Reader(path).read(); }

}  // namespace headlight::io
