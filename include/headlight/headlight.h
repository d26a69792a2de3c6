// The one include for newcomers.
#pragma once

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/kv_cache.h"
#include "headlight/reference.h"
#include "headlight/tensor.h"
#include "headlight/version.h"
