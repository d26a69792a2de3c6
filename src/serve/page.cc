#include "serve/page.h"

#include <cstddef>

#include "core/concat.h"
#include "io/gzip.h"
#include "serve/base64.h"

// Embeds the file between two labels. HEADLIGHT_PAGE is its path, set by the build.
asm(".section .rodata\n"
    "headlight_page_begin:\n"
    ".incbin \"" HEADLIGHT_PAGE
    "\"\n"
    "headlight_page_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char headlight_page_begin[], headlight_page_end[];  // NOLINT: labels of the assembler

namespace headlight::serve {
std::string_view page_html() {
  return {headlight_page_begin, static_cast<std::size_t>(headlight_page_end - headlight_page_begin)};
}

std::string page_policy() {
  constexpr std::string_view intro = "http-equiv=\"Content-Security-Policy\" content=\"";
  const std::string_view page = page_html();
  const std::size_t at = page.find(intro);
  if (at == std::string_view::npos) return "default-src 'none'";
  const std::string_view rest = page.substr(at + intro.size());
  // Prevents clickjacking: a page cannot refuse by itself to be shown inside another one.
  return concat(rest.substr(0, rest.find('"')), "; frame-ancestors 'none'");
}

std::string page_with_data(std::string_view bytes) {
  constexpr std::string_view empty = "<script type=\"text/plain\" id=\"data\"></script>";
  const std::string_view page = page_html();
  const std::size_t at = page.find(empty) + empty.size() - std::string_view("</script>").size();
  return concat(page.substr(0, at), base64(io::gzip(bytes)), page.substr(at));
}

}  // namespace headlight::serve
