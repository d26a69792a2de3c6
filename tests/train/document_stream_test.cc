// Texts in pieces: documents, lines of JSON, and files larger than what is read at once.
#include "train/document_stream.h"

#include <gtest/gtest.h>

#include <fstream>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::train {
namespace {

using testing::expect_error;
using testing::TempFolder;

class DocumentStreams : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
    return folder_.path(name);
  }
  static std::vector<std::string> all(const std::string& path, const DocumentRules& rules = {}) {
    std::vector<std::string> texts;
    DocumentStream stream(path, rules);
    for (DocumentStream::Document document; stream.next(document);) texts.push_back(document.text);
    return texts;
  }
  TempFolder folder_;
};

TEST_F(DocumentStreams, SeparatorsAcrossPiecesPlainAndCompressed) {
  // A document longer than a piece of the file, and separators that a piece's end cuts in two.
  std::string text;
  std::vector<std::string> wanted;
  for (int i = 0; i < 40000; ++i) {
    wanted.push_back("story number " + std::to_string(i) +
                     std::string(static_cast<std::size_t>(i % 97), 'x'));
    text += " " + wanted.back() + "\n<|endoftext|>";
  }
  wanted.push_back(std::string(3U << 20, 'y'));
  text += wanted.back();
  EXPECT_EQ(all(file("a.txt", text), {.separator = "<|endoftext|>"}), wanted);
  const std::string packed = file("a.txt.gz", io::gzip(text));
  EXPECT_EQ(all(packed, {.separator = "<|endoftext|>"}), wanted);
  DocumentStream stream(packed, {.separator = "<|endoftext|>"});
  for (DocumentStream::Document document; stream.next(document);) {}
  EXPECT_EQ(stream.facts().bytes, text.size());
  EXPECT_EQ(stream.facts().hash, io::hash_text(text));
}

TEST_F(DocumentStreams, LongTextsAreCutAtLines) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::vector<std::string> pieces = all(file("a.txt", text), {.piece = 100});
  EXPECT_GT(pieces.size(), 50U);
  std::string joined;
  for (const std::string& piece : pieces) {
    EXPECT_LE(piece.size(), 100U);
    EXPECT_EQ(piece.back(), '\n');
    joined += piece;
  }
  EXPECT_EQ(joined, text);
  joined.clear();  // no line to cut at: between characters then
  for (int i = 0; i < 100; ++i) joined += "é";
  for (const std::string& piece : all(file("b.txt", joined), {.piece = 7})) EXPECT_EQ(piece.size() % 2, 0U);
}

TEST_F(DocumentStreams, FieldsOfJsonLines) {
  const std::string path = file(
      "a.jsonl", "{\"text\": \"one\", \"n\": 1}\n\n{\"text\": \"t\\u0077o\", \"in\": {\"fr\": \"deux\"}}");
  EXPECT_EQ(all(path), (std::vector<std::string>{"one", "two"}));
  expect_error([&] { (void)all(path, {.field = "in.fr"}); }, ErrorKind::input, "data.form",
               "line 1: has no text \"in.fr\"; its fields are: text, n");
  EXPECT_EQ(jsonl_field("{\"in\": {\"fr\": \"deux\"}}", "in.fr", "x", 1), "deux");
  EXPECT_EQ(all(file("b.jsonl.gz", io::gzip("{\"text\": \"one\"}\n"))), std::vector<std::string>{"one"});
}

TEST_F(DocumentStreams, RefusesWithTheCause) {
  const auto refused = [&](const std::string& path, const std::string& words,
                           const char* code = "data.form") {
    expect_error([&] { (void)all(path); }, ErrorKind::input, code, words);
  };
  refused(file("empty", ""), "is empty");
  refused(file("latin", "caf\xe9"), "is not UTF-8 (byte 3)");
  refused(file("late", std::string((1U << 20) - 1, 'a') + "\xc3"), "is not UTF-8 (byte 1048575)");
  refused(file("inside", std::string((1U << 20) - 1, 'a') + "\xff" + std::string(3U << 20, 'a')),
          "is not UTF-8 (byte 1048575)");
  // A character is not cut where a piece ends.
  const std::string as((1U << 20) - 1, 'a');
  EXPECT_EQ(all(file("cut", as + "é")), (std::vector<std::string>{as, "é"}));
  const std::string packed = io::gzip("some text that is cut off in its middle");
  refused(file("half.gz", packed.substr(0, packed.size() - 9)), "cut off", "gzip.form");
}

}  // namespace
}  // namespace headlight::train
