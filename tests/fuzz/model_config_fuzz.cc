// Any bytes as a config.json: a model's description that makes sense, or a refusal by Error. Nothing is
// allocated for it; what is accepted has sizes whose products fit.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headlight/error.h"
#include "models/families.h"
#include "models/recurrent.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const io::Json json = io::Json::parse(text, "config.json");
    if (const io::Json* cell = json.find("cell"); cell != nullptr) {
      (void)models::read_recurrent_config(json);
      return 0;
    }
    const models::TransformerConfig config = models::read_config(json);
    const double parameters = models::least_parameters(config);
    if (!std::isfinite(parameters) || parameters < 1 || config.main().empty() || config.width < 1)
      std::abort();
    if (models::completed(config) != config) std::abort();  // it is complete already
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
  return 0;
}
