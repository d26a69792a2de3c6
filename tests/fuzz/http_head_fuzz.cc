// Any bytes as the head of a request: refused with a status, or read so that writing it again reads the same; the gate
// lets nobody through who does not name this machine.
#include <string_view>

#include "fuzz/bytes.h"
#include "serve/gate.h"
#include "serve/http_head.h"

namespace headlight::testing {
namespace {

std::string written(const serve::HttpHead& head) {
  std::string out = head.method + " " + head.path + (head.query.empty() ? "" : "?" + head.query);
  out += head.http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  for (const auto& [name, value] : head.headers) out += name + ": " + value + "\r\n";
  return out + "\r\n";
}

}  // namespace
}  // namespace headlight::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  using namespace headlight::testing;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const serve::HttpHead head = serve::parse_head(bytes);
  (void)serve::parse_query(head.query);
  if (head.status != 0) {
    if (head.status < 400 || head.status > 505 || head.keep_alive) fail("a refusal that is none");
    return 0;
  }
  if (head.body > serve::kLongestBody || head.path.empty() || head.path[0] != '/') fail("let through");
  const serve::HttpHead again = serve::parse_head(written(head));
  if (again.status != 0 || again.headers != head.headers || again.body != head.body ||
      again.path != head.path)
    fail("read in two ways");
  const serve::Gate gate{.port = 7437, .token = "0123456789abcdef0123456789abcdef"};
  if (gate.refusal(head) == 0 && head.header("host")->find("7437") == std::string_view::npos)
    fail("a stranger");
  return 0;
}
