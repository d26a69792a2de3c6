// Structs that keep views take no temporary tensors: the memory would be gone before the call that reads it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <type_traits>

#include "headlight/headlight.h"
#include "headlight/nn.h"
#include "headlight/recurrent.h"
#include "support/places.h"

namespace headlight::testing {
namespace {

// Can a field be given what a function returns, X? Templates, so that "does not compile" is an answer.
template <class X>
constexpr bool options_take = requires(X (*make)()) {
  AttentionOptions{.bias = make()};
}
|| requires(X (*make)()) { AttentionOptions{.mask = make()}; }
|| requires(X (*make)()) { AttentionOptions{.sinks = make()}; }
|| requires(X (*make)()) { AttentionOptions{.alibi_slopes = make()}; };
template <class X>
constexpr bool outputs_take = requires(X (*make)()) {
  AttentionOutputs{.out = make()};
}
|| requires(X (*make)()) { AttentionGrads{.dq = make()}; }
|| requires(X (*make)()) { nn::RecurrentLayer::Grads{.dstate = make()}; };
template <class X>
constexpr bool calls_take = requires(X (*make)()) {
  AttentionSaved{.q = make()};
}
|| requires(X (*make)()) { nn::AttentionCall{.memory = make()}; }
|| requires(X (*make)()) { nn::AttentionCall{.bias = make()}; }
|| requires(X (*make)()) { nn::RecurrentCall{.state = make()}; }
|| requires(X (*make)()) { nn::RecurrentCall{.memory = make()}; };

static_assert(!options_take<Tensor> && !options_take<const Tensor>);
static_assert(!outputs_take<Tensor> && !outputs_take<const Tensor> && !outputs_take<const Tensor&>);
static_assert(!calls_take<Tensor> && !calls_take<const Tensor>);
static_assert(options_take<const Tensor&> && options_take<Tensor&> && options_take<ConstTensorView> &&
              options_take<TensorView>);
static_assert(outputs_take<Tensor&> && outputs_take<TensorView>);
static_assert(calls_take<const Tensor&> && calls_take<Tensor&> && calls_take<ConstTensorView>);
// Also after the struct was made, and in braces.
static_assert(!std::is_assignable_v<ConstTensorRef&, Tensor> && !std::is_assignable_v<TensorRef&, Tensor>);
static_assert(!std::is_constructible_v<ConstTensorRef, Tensor> &&
              !std::is_constructible_v<TensorRef, Tensor>);

// Arguments live as long as the call, so functions take temporaries.
TEST(Borrowing, FunctionsTakeTemporaries) {
  const auto make = [] { return Tensor::from(std::vector<double>{1, 2, 3, 4}, {1, 1, 2, 2}); };
  const Tensor k = make();
  EXPECT_EQ(attention(make(), k, make()).out.shape(), (Shape{1, 1, 2, 2}));
}

// No struct of the public headers keeps a plain view: a new one has to be a ConstTensorRef or a TensorRef.
TEST(Borrowing, PublicStructsKeepOnlyRefs) {
  const std::regex field(R"(^ +(Const)?TensorView [a-z_0-9]+( = \{\})?(, [a-z_0-9]+( = \{\})?)*;)");
  int headers = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(source_folder()) / "include/headlight")) {
    std::ifstream text(file.path());
    ++headers;
    for (std::string line; std::getline(text, line);)
      EXPECT_FALSE(std::regex_search(line, field)) << file.path().filename() << ":" << line;
  }
  EXPECT_GE(headers, 10);
  EXPECT_TRUE(std::regex_search("  ConstTensorView q, k = {};  // such as this", field));
}

}  // namespace
}  // namespace headlight::testing
