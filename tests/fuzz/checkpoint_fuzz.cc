// Any text as a checkpoint.json: refused by Error, or read and written again as the same text. The fuzzer gets a
// checksum that fits for free, or nothing would ever get past it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "headlight/error.h"
#include "io/hash.h"
#include "train/checkpoint_manifest.h"

namespace {

using namespace headlight;

void check(const std::string& text) {
  try {
    const train::Manifest manifest = train::parse_manifest(text, "fuzz");
    const std::string written = train::manifest_text(manifest);
    if (train::manifest_text(train::parse_manifest(written, "again")) != written) std::abort();
    if (manifest.progress.step < 0 || manifest.progress.stale < 0) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  const std::string body = text.substr(0, text.rfind("\"checksum\""));
  check(body + "\"checksum\": \"" + io::hash_text(body) + "\"\n}\n");
  return 0;
}
