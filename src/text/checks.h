// Do the parts of a tokenizer fit together? Asked once, before anything is made of them.
#pragma once

#include "text/parts.h"

namespace headlight::text {

// Throws Error{input} that names the first thing that does not fit.
void check_parts(const TokenizerParts& parts);

}  // namespace headlight::text
