#include "headlight/tensor.h"
