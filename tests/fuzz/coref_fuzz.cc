// Any bytes as a set of pronouns: refused with the line, or items whose pronoun and candidates stand in their text.
#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "text/coref_set.h"

namespace {

void check(const headlight::text::CorefSet& set) {
  using headlight::testing::fail;
  for (const headlight::text::CorefItem& item : set.items) {
    const auto inside = [&](const headlight::text::ByteSpan& s) {
      return s.begin < s.end && s.end <= item.text.size();
    };
    if (!inside(item.pronoun)) fail("a pronoun out of place");
    if (item.candidates.size() < 2 || item.right >= item.candidates.size()) fail("no right candidate");
    for (const auto& candidate : item.candidates)
      if (!inside(candidate)) fail("a candidate out of place");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  // The first byte chooses a reader, so that the fuzzer need not find their first lines.
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 4) {
      case 0: check(text::parse_coref(bytes, "fuzz")); break;
      case 1: check(text::parse_winograd(bytes, "fuzz.xml")); break;
      case 2: check(text::parse_winogender(bytes, "fuzz.tsv")); break;
      default: check(text::parse_gap(bytes, "fuzz.tsv"));
    }
  } catch (const Error& error) {
    testing::check_message(error.what());
    if (error.kind() != ErrorKind::input) testing::fail(error.what());
  }
  return 0;
}
