// Any bytes as dependency trees: refused with the line, or trees whose words stand in their text and whose heads exist.
#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "text/conllu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  using testing::fail;
  try {
    for (const text::Tree& tree :
         text::parse_conllu({reinterpret_cast<const char*>(data), size}, "fuzz.conllu")) {
      const auto count = static_cast<Index>(tree.words.size());
      if (count < 1 || count > text::kLongestTree) fail("a tree beyond its limits");
      std::size_t last = 0;
      for (const text::TreeWord& word : tree.words) {
        if (word.head < -1 || word.head >= count) fail("a head that is not there");
        if (word.begin < last || word.end < word.begin || word.end > tree.text.size())
          fail("a word out of place");
        if (word.relation.empty() || word.form.empty()) fail("an empty word");
        last = word.begin;
      }
    }
  } catch (const Error& error) {
    testing::check_message(error.what());
    if (error.kind() != ErrorKind::input) fail(error.what());
  }
  return 0;
}
