#include "headlight/attention.h"
