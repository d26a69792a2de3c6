#include "support/cases.h"

#include <algorithm>

#include "core/concat.h"
#include "support/random.h"

namespace headlight::testing {
namespace {

constexpr Index kLengths[] = {0,  1,  2,  7,   8,   9,   15,  16,  17,  31,   32,   33,  63,
                              64, 65, 97, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025};
constexpr Index kWidths[] = {1, 3, 8, 16, 40, 59, 64, 80, 96, 111, 128, 160, 192, 256};

template <class Enum>
Enum draw(const std::function<Index(Index)>& below) {
  return static_cast<Enum>(below(static_cast<Index>(Enum::count)));
}

Visibility draw_visibility(const std::function<Index(Index)>& below, Index longest) {
  Visibility visible;
  switch (below(8)) {
    case 0:
    case 1: visible = Visibility::all(); break;
    case 2:
    case 3:
    case 4: visible = Visibility::causal(); break;
    case 5: visible = Visibility::window(1 + below(longest + 4)); break;
    case 6: visible = {.left = below(longest + 2), .right = below(longest + 2)}; break;
    default: visible = Visibility::prefix_lm(below(longest + 2)); break;
  }
  if (below(6) == 0) visible.left = below(longest + 2);
  if (below(5) == 0) visible.offset = below(2 * longest + 5) - longest;
  return visible;
}

// Lengths up to `whole`, or starts that end with it.
std::vector<Index> draw_ends(const std::function<Index(Index)>& below, Ragged ragged, Index count,
                             Index whole) {
  std::vector<Index> ends;
  for (Index i = 0; i < count; ++i) ends.push_back(below(4) == 0 ? whole : below(whole + 1));
  if (ragged != Ragged::packed) return ends;
  ends.front() = 0;
  ends.back() = whole;
  std::sort(ends.begin(), ends.end());
  return ends;
}

// Halves whatever is largest until the case is affordable; what makes it special stays. Where little is
// affordable, narrow and short cases keep several heads and items.
void shrink(Case& c, Index budget) {
  const bool little = budget < (Index{1} << 14);
  while (c.multiply_adds() > budget || c.elements() > budget) {
    if (little && std::max(c.dim, c.value_dim) > 8)
      c.dim = (c.dim + 1) / 2, c.value_dim = (c.value_dim + 1) / 2;
    else if (little && c.q_len > 8) c.q_len = (c.q_len + 1) / 2;
    else if (little && c.k_len > 8) c.k_len = (c.k_len + 1) / 2;
    else if (c.batch > 1 && c.ragged == Ragged::none) c.batch = (c.batch + 1) / 2;
    else if (c.q_heads > 2 * c.kv_heads) c.q_heads -= c.kv_heads;
    else if (c.kv_heads > 1) c.q_heads = c.q_heads / c.kv_heads, c.kv_heads = 1;
    else if (c.q_len >= c.k_len && c.q_len > 1) c.q_len = (c.q_len + 1) / 2;
    else if (c.k_len > 1) c.k_len = (c.k_len + 1) / 2;
    else c.dim = (c.dim + 1) / 2, c.value_dim = (c.value_dim + 1) / 2;
  }
}

const char* const kDataNames[] = {"normal",       "constant",   "one hot key", "scores 1e4", "scores 1e38",
                                  "all -inf",     "mixed inf",  "NaN visible", "NaN hidden", "denormal",
                                  "tiny weights", "cancelling", "minus zero",  "large bias"};
const char* const kLayoutNames[] = {"dense",        "token major",    "padded",
                                    "shared heads", "reversed batch", "reversed tokens"};
const char* const kSpreadNames[] = {"none", "[K]", "[Q,K]", "[H,Q,K]", "[B,1,1,K]", "[B,1,Q,1]", "[B,H,Q,K]"};
const char* const kRaggedNames[] = {"none", "k lengths", "lengths", "packed"};

template <class Enum, std::size_t n>
const char* name(const char* const (&names)[n], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

std::string list(const std::vector<Index>& values) {
  std::string text;
  for (const Index x : values) text += concat(text.empty() ? "" : ",", x);
  return text;
}

}  // namespace

Case draw_case(const std::function<Index(Index n)>& below, Index most) {
  Case c;
  constexpr Index kBudgets[] = {Index{1} << 24, Index{1} << 20, Index{1} << 20, Index{1} << 20,
                                Index{1} << 17};
  const Index budget = kBudgets[std::min<Index>(4, below(32))];
  const auto length = [&] { return kLengths[below(std::size(kLengths))]; };
  const auto width = [&] { return kWidths[below(std::size(kWidths))]; };
  constexpr DType kDtypes[] = {DType::f32, DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16};
  c.dtype = kDtypes[below(6)];
  c.data = below(2) == 0 ? Data::normal : draw<Data>(below);
  c.batch = 1 + below(3);
  c.kv_heads = 1 + below(6);
  c.q_heads = std::min<Index>(17 / c.kv_heads, 1 + below(4)) * c.kv_heads;
  c.k_len = length();
  c.q_len = below(3) == 0 ? c.k_len : length();
  if (below(8) == 0) c.q_len = 1;  // decoding
  c.dim = width();
  c.value_dim = below(2) == 0 ? c.dim : width();
  c.ragged = below(3) == 0 ? draw<Ragged>(below) : Ragged::none;
  if (c.ragged == Ragged::packed) c.batch = 1;
  shrink(c, std::min(budget, most));
  const Index ends = c.ragged == Ragged::packed ? 2 + below(4) : c.batch;
  if (c.ragged == Ragged::packed || c.ragged == Ragged::both_lengths)
    c.q_ends = draw_ends(below, c.ragged, ends, c.q_len);
  if (c.ragged != Ragged::none) c.k_ends = draw_ends(below, c.ragged, ends, c.k_len);

  c.visible = draw_visibility(below, std::max(c.q_len, c.k_len));
  if (below(5) == 0) c.scale = below(4) == 0 ? 0 : static_cast<double>(below(33) - 16) / 32;
  if (below(6) == 0) c.softcap = below(2) == 0 ? 2.5 : 30;
  c.alibi = below(6) == 0;
  c.sinks = below(6) == 0;
  if (below(4) == 0) c.mask = draw<Spread>(below);
  if (below(4) == 0) c.bias = draw<Spread>(below);
  constexpr DType kBiasDtypes[] = {DType::f32, DType::f32, DType::f64, DType::bf16, DType::f16};
  c.bias_dtype = kBiasDtypes[below(5)];
  if (below(2) == 0) {
    c.q_layout = draw<Layout>(below);
    c.k_layout = draw<Layout>(below);
    c.v_layout = draw<Layout>(below);
    c.out_layout = static_cast<Layout>(below(3));  // an output cannot share
    c.shift = below(17);
  }
  c.statistics = below(2) == 0;
  c.top = 1 + below(below(8) == 0 ? 32 : 5);
  if (c.data == Data::all_minus_inf || c.data == Data::mixed_inf || c.data == Data::large_bias) {
    if (c.bias == Spread::none) c.bias = Spread::queries_keys;
  }
  if (c.data == Data::nan_hidden && c.mask == Spread::none) c.mask = Spread::keys;
  if (c.data == Data::scores_1e38) c.scale = 1, c.softcap = 0;
  c.seed = static_cast<std::uint64_t>(below(Index{1} << 30));
  return c;
}

Case random_case(std::uint64_t seed) {
  Random random(seed * 0x100000001B3U + 7);
  return draw_case([&](Index n) { return random.below(n); });
}

Case random_training_case(std::uint64_t seed) {
  Case c = random_case(seed);
  Random random(seed * 0x100000001B3U + 11);
  if (random.below(4) != 0) return c;
  constexpr double kRates[] = {0.1, 0.5, 0.9, 1e-9};
  c.dropout = {.rate = kRates[random.below(4)], .seed = random.next(), .layer = random.next() % 3};
  return c;
}

std::string describe(const Case& c) {
  std::string text =
      concat("{", name_of(c.dtype), " B", c.batch, " Hq", c.q_heads, " Hkv", c.kv_heads, " Lq", c.q_len,
             " Lk", c.k_len, " D", c.dim, " Dv", c.value_dim, ", ", name(kDataNames, c.data));
  const auto unless = [&](bool usual, const auto&... parts) {
    if (!usual) text += concat(", ", parts...);
  };
  unless(c.visible.left == Visibility::kUnbounded, "left ", c.visible.left);
  unless(c.visible.right == Visibility::kUnbounded, "right ", c.visible.right);
  unless(!c.visible.prefix, "prefix ", c.visible.prefix.value_or(0));
  unless(!c.visible.offset, "offset ", c.visible.offset.value_or(0));
  unless(!c.scale, "scale ", c.scale.value_or(0));
  unless(c.softcap == 0, "softcap ", c.softcap);
  unless(!c.alibi, "alibi");
  unless(!c.sinks, "sinks");
  unless(c.mask == Spread::none, "mask ", name(kSpreadNames, c.mask));
  unless(c.bias == Spread::none, "bias ", name_of(c.bias_dtype), " ", name(kSpreadNames, c.bias));
  unless(c.ragged == Ragged::none, name(kRaggedNames, c.ragged), " q(", list(c.q_ends), ") k(",
         list(c.k_ends), ")");
  unless(c.q_layout == Layout::dense, "q ", name(kLayoutNames, c.q_layout));
  unless(c.k_layout == Layout::dense, "k ", name(kLayoutNames, c.k_layout));
  unless(c.v_layout == Layout::dense, "v ", name(kLayoutNames, c.v_layout));
  unless(c.out_layout == Layout::dense, "out ", name(kLayoutNames, c.out_layout));
  unless(c.shift == 0, "shift ", c.shift);
  unless(c.dropout.rate == 0, "dropout ", c.dropout.rate, " of ", c.dropout.seed, "/", c.dropout.layer);
  unless(!c.statistics, "statistics top ", c.top);
  return text + concat(", seed ", c.seed, "}");
}

}  // namespace headlight::testing
