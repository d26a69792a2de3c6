// Open a model, run it, look into it, change it, let it write.
#pragma once

#include "headlight/ablate.h"
#include "headlight/figure.h"
#include "headlight/look.h"
#include "headlight/run.h"
#include "headlight/write.h"

#pragma GCC visibility push(default)
#pragma GCC visibility pop
