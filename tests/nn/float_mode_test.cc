// Layers give the same bits whatever the caller's floating-point mode is: every function of the headers is called.
#include <gtest/gtest.h>

#include "nn/layer_calls.h"
#include "support/entries.h"
#include "support/places.h"

namespace headlight::testing {
namespace {

TEST(FloatModes, LayersGiveTheSameBits) {
  constexpr DType kTypes[] = {DType::f32, DType::f64};
  expect_same_bits_in_every_mode(nn::layer_calls::all(), kTypes);
}

TEST(FloatModes, EveryLayerIsCalled) {
  const std::string folder = source_folder() + "/include/headlight/";
  std::set<std::string> functions;
  for (const char* header :
       {"nn.h", "layers.h", "experts.h", "attention_layers.h", "positions.h", "recurrent.h"})
    functions.merge(functions_on_a_context(folder + header));
  EXPECT_GE(functions.size(), 25U);
  expect_complete(nn::layer_calls::all(), functions);
}

}  // namespace
}  // namespace headlight::testing
