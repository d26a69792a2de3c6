// Consistency checks of the parts of a tokenizer, before it is built.
#pragma once

#include "text/parts.h"

namespace headlight::text {

// Throws Error{input} that names the first inconsistency.
void check_parts(const TokenizerParts& parts);

}  // namespace headlight::text
