// A file with the page and one run inside, for reading without a server or a network.
#pragma once

#include <string>

#include "serve/run.h"

namespace headlight::serve {

struct OfflineOptions {
  std::string at = {};        // the view to open with, as in the page's address
  Part part = Part::decoder;  // for long texts: the part and layer that are kept exactly
  Index layer = 0;
  std::string model = {};  // the argument of --model that opens the model; empty: its name
  std::size_t most_bytes = std::size_t{25} << 20;  // of the file
};

// Texts of up to 64 tokens are kept completely. Of longer texts, one layer is kept exactly and the others as small pictures.
// For complete ones, the effect of removing each head is computed too, if that takes only seconds.
// Throws Error{resource} if the file would be too large.
[[nodiscard]] std::string offline_page(Context& ctx, const KeptRun& kept, const OfflineOptions& options);

}  // namespace headlight::serve
