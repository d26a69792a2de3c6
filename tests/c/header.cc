// The header of the C interface is valid C++ as well, and its structures have the layout that other languages declare.
#include <cstddef>

#include "headlight/c/headlight.h"

static_assert(sizeof(headlight_tensor) == 80 && offsetof(headlight_tensor, shape) == 16);
static_assert(offsetof(headlight_attention_options, alibi_slopes) == 64);
static_assert(sizeof(headlight_attention_outputs) == 8 + 9 * 80);
static_assert(sizeof(headlight_cache_options) == 64);
static_assert(sizeof(headlight_model_info) == 48);
