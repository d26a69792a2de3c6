// Text that comes token by token: nothing is shown too early, and nothing is lost.
#include "text/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace {

TEST(StopStrings, HoldsBackWhatMayBecomeOne) {
  StopStrings stops({"END", "\n\n"});
  EXPECT_EQ(stops.add("one E"), "one ");
  EXPECT_EQ(stops.add("ggs"), "Eggs");
  EXPECT_EQ(stops.add(" and EN"), " and ");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.add("D of it"), "");
  EXPECT_TRUE(stops.found());
  EXPECT_EQ(stops.add("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, TheFirstOfSeveralCounts) {
  StopStrings stops({"b", "ab"});
  EXPECT_EQ(stops.add("xxab"), "xx");
  EXPECT_TRUE(stops.found());
  StopStrings within({"abc", "b"});
  EXPECT_EQ(within.add("ab"), "a");  // "b" is there before "abc" can be
  EXPECT_TRUE(within.found());
}

TEST(StopStrings, RepeatedBeginnings) {
  StopStrings stops({"aab"});
  EXPECT_EQ(stops.add("a"), "");
  EXPECT_EQ(stops.add("a"), "");
  EXPECT_EQ(stops.add("a"), "a");  // "aaa": the last two may still begin one
  EXPECT_EQ(stops.add("b"), "");
  EXPECT_TRUE(stops.found());
}

TEST(StopStrings, WhatWasHeldBackComesAtTheEnd) {
  StopStrings stops({"STOP"});
  EXPECT_EQ(stops.add("do not ST"), "do not ");
  EXPECT_EQ(stops.finish(), "ST");
  EXPECT_FALSE(stops.found());
  StopStrings none({});
  EXPECT_EQ(none.add("all of it"), "all of it");
}

// All ways to cut a text in two and three give the same.
TEST(StopStrings, AnyPieces) {
  const std::string text = "abcabdabcabe", stop = "abcabe";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (std::size_t j = i; j <= text.size(); ++j) {
      StopStrings stops({stop});
      std::string out = stops.add(text.substr(0, i));
      out += stops.add(text.substr(i, j - i));
      out += stops.add(text.substr(j));
      EXPECT_EQ(out, "abcabd") << i << " " << j;
      EXPECT_TRUE(stops.found());
    }
  }
}

}  // namespace
}  // namespace headlight::text
