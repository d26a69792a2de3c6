// BERT's normalizer in one pass is what its four steps are one after the other: text and origins, for every
// character there is and for texts that mix the difficult ones.
#include <gtest/gtest.h>

#include <random>

#include "text/normalizer.h"

namespace headlight::text {
namespace {

constexpr BertCleaning kNothing{
    .clean_text = false, .chinese = false, .lowercase = false, .strip_accents = false};

// Each step alone. Only the first cleans: the others cannot take the one pass, which always does.
std::vector<NormalizerStep> one_by_one(const BertCleaning& step) {
  std::vector<NormalizerStep> steps;
  const auto add = [&](auto change) {
    BertCleaning alone = kNothing;
    change(alone);
    steps.emplace_back(alone);
  };
  if (step.clean_text) add([](BertCleaning& s) { s.clean_text = true; });
  if (step.chinese) add([](BertCleaning& s) { s.chinese = true; });
  if (step.strip_accents.value_or(step.lowercase)) add([](BertCleaning& s) { s.strip_accents = true; });
  if (step.lowercase) add([](BertCleaning& s) { s.lowercase = true; });
  return steps;
}

// The text, and the origin of each of its bytes.
std::string cleaned(const std::vector<NormalizerStep>& steps, std::string_view text) {
  constexpr std::uint32_t kBase = 7;
  AlignedText aligned(text, kBase, Origins::track);
  std::size_t allowance = Normalizer::allowance(text.size());
  Normalizer(steps).apply(aligned, allowance);
  std::string found(aligned.text());
  for (std::uint32_t at = 0; at < aligned.size(); ++at) {
    const Range origin = aligned.origin(at);
    found.append(" ").append(std::to_string(origin.begin)).append("-").append(std::to_string(origin.end));
  }
  return found;
}

std::vector<BertCleaning> all_settings() {
  std::vector<BertCleaning> all;
  for (const bool chinese : {false, true})
    for (const bool lowercase : {false, true})
      for (const std::optional<bool> strip :
           {std::optional<bool>(), std::optional(false), std::optional(true)})
        all.push_back(
            {.clean_text = true, .chinese = chinese, .lowercase = lowercase, .strip_accents = strip});
  return all;
}

void expect_same(const BertCleaning& step, const std::string& text) {
  ASSERT_EQ(cleaned({step}, text), cleaned(one_by_one(step), text))
      << "chinese " << step.chinese << ", lowercase " << step.lowercase << ", strip "
      << (step.strip_accents ? int{*step.strip_accents} : -1) << ", of " << ::testing::PrintToString(text);
}

TEST(BertCleaning, EveryCharacterInOnePass) {
  constexpr char32_t kBatch = 64, kEnd = 0x110000, kSurrogates = 0xD800, kAfter = 0xE000;
  for (char32_t first = 0; first < kEnd; first += kBatch) {
    if (first >= kSurrogates && first < kAfter) continue;
    std::string text;
    for (char32_t code = first; code < first + kBatch; ++code) {
      append(text, code);
      if (code % 3 != 0) text += 'A';
    }
    expect_same({}, text);
    if (HasFatalFailure()) return;
  }
}

TEST(BertCleaning, MixedTextsInOnePass) {
  // Marks that go (U+0301, U+0323, U+0344), marks that stay and move (U+302E, U+1D165), what is taken apart
  // (Hangul, U+FB1D, U+FA0E's neighbours), what is dropped, what is a space, what is two small letters.
  constexpr char32_t kCharacters[] = {
      'a',   'B',    ' ',    '\t',   '\n',    1,       0x7F,   '.',    'e',    0xE9,   0xC9,    0x301,
      0x323, 0x344,  0x302E, 0x302F, 0x1D165, 0x1D16D, 0xAC01, 0xFB1D, 0xFA10, 0x4E2D, 0x20001, 0xFFFD,
      0xA0,  0x2028, 0x200D, 0x130,  0x3A3,   0xE000,  0x85,   0,      0x2019, 0x1E69, 0x1B44};
  std::mt19937 random(7);
  const std::vector<BertCleaning> settings = all_settings();
  for (int n = 0; n < 2000; ++n) {
    std::string text;
    for (std::size_t left = random() % 12; left > 0; --left)
      append(text, kCharacters[random() % std::size(kCharacters)]);
    for (const BertCleaning& step : settings) {
      expect_same(step, text);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BertCleaning, OriginsOfSpacesAroundChinese) {
  // The first character is dropped: the space before 中 stands for nothing. That before 文 belongs to 中.
  EXPECT_EQ(cleaned({BertCleaning{}}, "\x01中文"),
            " 中  文  7-7 8-11 8-11 8-11 8-11 8-11 11-14 11-14 11-14 11-14");
}

}  // namespace
}  // namespace headlight::text
