// Maps with known numbers for the tests of drawing, and golden files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "draw/weight_map.h"
#include "support/places.h"

namespace headlight::draw::testing {

inline std::vector<std::string> street_words() {
  return {"The",     "animal", "didn", "'t",  "cross", "the", "street",
          "because", "it",     "was",  "too", "tired", "."};
}

// Rows that sum to one, made of small integers alone: the same floats everywhere.
inline WeightMap sample_map(const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                            bool causal, unsigned seed = 1) {
  WeightMap map;
  map.title = "layer 2, head 5";
  map.short_name = "2.5";
  map.queries = queries;
  map.keys = keys;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    std::vector<unsigned> row;
    unsigned sum = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const unsigned mixed = (seed * 7919U + static_cast<unsigned>(i * 131 + j * 17 + i * j * 29)) % 97U;
      row.push_back(causal && j > i ? 0 : mixed * mixed * mixed % 1009U + 1);
      sum += row.back();
      if (causal) map.visible.push_back(j <= i ? 1 : 0);
    }
    for (const unsigned x : row) map.weights.push_back(static_cast<float>(x) / static_cast<float>(sum));
  }
  return map;
}

inline WeightMap street_map(bool causal, unsigned seed = 1) {
  return sample_map(street_words(), street_words(), causal, seed);
}

// East Asian, combining, right-to-left, control characters and a long word.
inline WeightMap mixed_map() {
  return sample_map({"猫が", "nai\u0308ve", "שלום", "\x1b[31m", "Donaudampfschifffahrt", " "},
                    {"猫が", "nai\u0308ve", "שלום", "\x1b[31m", "Donaudampfschifffahrt", " "}, false);
}

// Compares with tests/draw/golden/NAME. With HEADLIGHT_UPDATE_GOLDEN set, writes the file instead.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(::headlight::testing::source_folder()) / "tests/draw/golden" / name;
  if (std::getenv("HEADLIGHT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ostringstream expected;
  expected << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(text, expected.str()) << path << "\nHEADLIGHT_UPDATE_GOLDEN=1 accepts the new text.";
}

}  // namespace headlight::draw::testing
