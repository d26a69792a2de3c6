// Reads the errors that a call throws: tests hold their kind, their code and their words.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headlight/error.h"

namespace headlight::testing {

// Expects `call` to throw an Error with this kind and code, and `words` in its text.
template <class Call>
void expect_error(const Call& call, ErrorKind kind, const std::string& code, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "no error; expected " << code;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what() << "\n  lacks: " << words;
  }
}

}  // namespace headlight::testing
