// Any bytes as a list of words, and as a text whose words are looked up in it: refused with the line, or a list that knows its
// words and all their beginnings. A text in pieces has the words of the whole text.
#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "text/known_words.h"
#include "text/lines.h"
#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  using testing::fail;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const text::KnownWords words("fuzz.txt", bytes);
    for (const std::string_view line : text::lines_of(bytes))
      if (!words.contains(line) || !words.begins(line.substr(0, line.size() / 2)))
        fail("a word is not known");
  } catch (const Error& error) {
    testing::check_message(error.what());
    if (error.kind() != ErrorKind::input) fail(error.what());
  }
  const std::string text = text::to_well_formed(bytes) + "\n";
  text::OpenWord whole, pieces;
  std::vector<std::string> once, bit_by_bit;
  text::read_words(whole, text, once);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = text::character_at(text, at).length;
    text::read_words(pieces, std::string_view(text).substr(at, length), bit_by_bit);
    at += length;
  }
  if (once != bit_by_bit || !whole.letters.empty()) fail("other words in pieces");
  return 0;
}
