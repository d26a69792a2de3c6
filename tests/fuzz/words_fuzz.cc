// Any bytes as the file of `headlight explain --input`: refused with a message, or words and vectors within
// their limits, from which a page and JSON can be made that do not carry raw control bytes.
#include <cmath>

#include "cli/explain/text.h"
#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "io/json.h"
#include "io/word_vectors.h"
#include "lab/worked_example.h"

namespace headlight::testing {
namespace {

void explain(lab::Sentence sentence, std::size_t size) {
  constexpr lab::Parameters kAll[] = {lab::Parameters::none, lab::Parameters::uniform,
                                      lab::Parameters::per_head, lab::Parameters::shared};
  const lab::Recipe recipe{
      .parameters = kAll[size % 4], .heads = 1 + static_cast<Index>(size % 2), .causal = size % 3 == 0};
  const lab::Trace trace = lab::trace(sentence, recipe);
  const cli::Explanation explanation{sentence, recipe, trace, 0};
  const cli::ExplainPages pages = cli::explain_pages(explanation, {});
  for (const char c : pages.before_scores + pages.rest) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') fail("a raw control byte on the page");
  }
  const io::Json json = io::Json::parse(cli::explain_json(explanation), "explain.json");
  if (json.list("tokens").items().size() != sentence.words.size()) fail("tokens got lost");
  for (const io::Json& row : json.list("context").items())
    for (const io::Json& x : row.items())
      if (!std::isfinite(x.real())) fail("a context vector that is not finite");
}

}  // namespace
}  // namespace headlight::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  using testing::fail;
  try {
    io::WordVectors words = io::parse_word_vectors({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    const auto count = static_cast<Index>(words.words.size());
    if (count < 1 || count > 256 || words.x.dim(0) != count || words.x.dim(1) < 1 || words.x.dim(1) > 256)
      fail("words beyond the limits");
    if (count <= 8 && words.x.dim(1) <= 8)
      testing::explain({.words = std::move(words.words), .x = std::move(words.x), .built_in = false}, size);
  } catch (const Error& error) {
    testing::check_message(error.what());
    if (error.kind() != ErrorKind::input) fail(error.what());
  }
  return 0;
}
