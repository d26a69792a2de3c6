#include <cstdio>

#include "headlight/headlight.h"
#include "headlight/nn.h"

// A layer without bias and with parameters of zero gives zeros.
int main() {
  headlight::nn::SelfAttention layer(8, 8, false);
  const headlight::Tensor x({3, 8});
  const headlight::Tensor y = layer.forward(headlight::default_context(), x);
  if (y.dim(0) != 3 || y.at(2, 7) != 0) return 1;
  std::printf("consumed headlight %s\n", headlight::kVersion);
}
