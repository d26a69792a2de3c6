// The model API: open and run a model, inspect it, change it, generate text.
#pragma once

#include "headlight/ablate.h"
#include "headlight/chat.h"
#include "headlight/choices.h"
#include "headlight/embed.h"
#include "headlight/figure.h"
#include "headlight/lens.h"
#include "headlight/look.h"
#include "headlight/run.h"
#include "headlight/write.h"

#pragma GCC visibility push(default)
#pragma GCC visibility pop
