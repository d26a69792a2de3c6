// Any bytes as a chat template: refused with a message, or it ends within its limits with text that is UTF-8.
#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "text/jinja.h"
#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  using namespace headlight::text::jinja;
  const auto message = [](const char* role, const char* content) {
    return Value(Object{.entries = {{"role", Value(role)}, {"content", Value(content)}}});
  };
  const Object variables{
      .entries = {{"messages", Value(List{message("user", "é "), message("assistant", "b\n")})},
                  {"add_generation_prompt", Value(true)},
                  {"bos_token", Value("<s>")},
                  {"tools", Value(None{})}}};
  try {
    const Template chat({reinterpret_cast<const char*>(data), size}, "fuzz.jinja");
    constexpr Limits limits{.steps = 50'000, .output = 1 << 16};
    const std::string text = chat.render(variables, std::tm{}, limits);
    if (text.size() > limits.output) testing::fail("more than the limit was written");
    if (!text::is_well_formed(text)) testing::fail("the text is not UTF-8");
    if (text != chat.render(variables, std::tm{}, limits)) testing::fail("not the same twice");
  } catch (const Error& error) {
    testing::check_message(error.what());
    if (error.kind() != ErrorKind::input) testing::fail(error.what());
  }
  return 0;
}
