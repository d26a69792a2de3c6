// Any bytes as a tokenizer.json, and a text behind a zero byte: accepted or refused by Error. What is
// accepted gives ids of its own vocabulary and places within the text, and is the same after it was
// written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "io/json.h"
#include "models/tokenizer_file.h"

namespace {

using namespace headlight;

void check_text(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<TokenSpan> spans = tokenizer.encode_spans(text);
  const std::vector<TokenId> ids = tokenizer.encode(text);
  if (spans.size() != ids.size()) std::abort();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (spans[i].id != ids[i] || ids[i] < 0 || ids[i] >= tokenizer.size()) std::abort();
    if (spans[i].begin > spans[i].end || spans[i].end > text.size()) std::abort();
  }
  (void)tokenizer.encode_pair(text, text);
  (void)tokenizer.decode(ids, SpecialTokens::add);
  (void)tokenizer.decode(ids, SpecialTokens::leave_out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const std::string_view text = all.substr(std::min(end + 1, all.size()));
  try {
    const Tokenizer first = models::tokenizer_from_json(io::Json::parse(all.substr(0, end), "fuzz.json"));
    const std::string json = models::tokenizer_to_json(first);
    const Tokenizer second = models::tokenizer_from_json(io::Json::parse(json, "again.json"));
    if (models::tokenizer_to_json(second) != json) std::abort();
    check_text(first, text);
    if (first.encode(text) != second.encode(text)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
    headlight::testing::check_message(error.what());
  }
  return 0;
}
