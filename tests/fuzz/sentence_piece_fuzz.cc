// Any bytes as a SentencePiece .model; the first byte says how many of the next ones are the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "models/tokenizer_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view text = rest.substr(0, data[0]);
  try {
    const Tokenizer tokenizer = models::tokenizer_from_sentence_piece(rest.substr(text.size()), "fuzz.model");
    const std::vector<TokenSpan> spans = tokenizer.encode_spans(text);
    const std::vector<TokenId> ids = tokenizer.encode(text);
    if (spans.size() != ids.size()) std::abort();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (spans[i].id != ids[i] || ids[i] < 0 || ids[i] >= tokenizer.size()) std::abort();
      if (spans[i].begin > spans[i].end || spans[i].end > text.size()) std::abort();
    }
    (void)tokenizer.decode(ids);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
    headlight::testing::check_message(error.what());
  }
  return 0;
}
