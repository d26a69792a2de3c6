// Token files: made once, by any number of threads, read in windows, checked when opened.
#include "train/token_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "headlight/error.h"
#include "models/tokenizer_file.h"
#include "support/errors.h"
#include "support/small_models.h"
#include "support/temp_folder.h"
#include "train/token_row.h"

namespace headlight::train {
namespace {

using testing::expect_error;
using testing::TempFolder;

class TokenFiles : public ::testing::Test {
 protected:
  std::string text(const std::string& name, const std::string& words) const {
    std::ofstream(folder_.path(name), std::ios::binary) << words;
    return folder_.path(name);
  }
  [[nodiscard]] std::shared_ptr<const TokenFile> cached(const std::string& path, const TokenRules& rules,
                                                        bool* made = nullptr) const {
    Context ctx({.threads = 1});
    return TokenCache(ctx, folder_.path("tokens")).tokens_of(path, rules, made);
  }
  [[nodiscard]] TokenRules rules() const { return {tokenizer_, "hash", {}, TokenId{3}, "language"}; }
  static std::vector<TokenId> all(const TokenFile& file) {
    std::vector<TokenId> ids(static_cast<std::size_t>(file.size()));
    file.read(0, ids);
    return ids;
  }
  // In a process of its own: 0 when it could do it with 20 MB more than it has.
  [[nodiscard]] int tokens_in_little_memory(const TokenRules& how) const {
    std::ifstream status("/proc/self/statm");
    rlim_t pages = 0;
    status >> pages;
    const rlim_t room = pages * 4096 + (20U << 20);
    const rlimit limit = {room, room};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    const auto file = cached(folder_.path("large.txt"), how);
    std::vector<TokenId> window(256);
    for (Index i = 0; i < 1000; ++i) file->read(i * (file->size() - 256) / 1000, window);
    return file->size() > (8 << 20) ? 0 : 1;
  }
  TempFolder folder_;
  Tokenizer tokenizer_ = testing::small_tokenizer();
};

TEST_F(TokenFiles, HoldWhatTheTokenizerGives) {
  const std::string words = "the cat sat on the mat . harry potter lives here !\n";
  bool made = false;
  const auto file = cached(text("a.txt", words), rules(), &made);
  EXPECT_TRUE(made);
  EXPECT_EQ(all(*file), tokenizer_.encode(words, SpecialTokens::leave_out));
  EXPECT_EQ(file->text().bytes, words.size());
  EXPECT_EQ(file->text().hash, io::hash_text(words));
  EXPECT_EQ(file->documents(), 1);
  std::vector<TokenId> window(3);
  file->read(2, window);
  EXPECT_EQ(window, (std::vector<TokenId>{all(*file)[2], all(*file)[3], all(*file)[4]}));
  TokenRules parted = rules();
  parted.documents.separator = "|";
  const auto two = cached(text("b.txt", "the cat|the mat"), parted);
  EXPECT_EQ(two->documents(), 2);
  EXPECT_EQ(two->document_end(0), 3);
  EXPECT_EQ(all(*two)[2], 3);
  const auto lines = cached(text("c.jsonl", "{\"text\": \"the cat\"}\n{\"text\": \"the mat\"}\n"), rules());
  EXPECT_EQ(all(*lines), all(*two));
}

TEST_F(TokenFiles, AreMadeAgainOnlyWhenSomethingChanged) {
  const std::string path = text("a.txt", "the cat sat");
  bool made = false;
  const auto was_made = [&](const TokenRules& how) {
    (void)cached(path, how, &made);
    return made;
  };
  EXPECT_TRUE(was_made(rules()));
  EXPECT_FALSE(was_made(rules()));
  TokenRules other = rules();
  other.tokenizer_hash = "another tokenizer";
  EXPECT_TRUE(was_made(other));
  other.documents.field = "body";
  EXPECT_TRUE(was_made(other));
  (void)text("a.txt", "the cat sat on");
  EXPECT_TRUE(was_made(rules()));
  // Of the same size, at another time.
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(3));
  EXPECT_TRUE(was_made(rules()));
  EXPECT_FALSE(was_made(rules()));
}

TEST_F(TokenFiles, DoNotDependOnThreads) {
  std::string words;
  for (int i = 0; i < 400; ++i)
    words += i % 7 == 0 ? "harry potter lives here !\n" : "the cat sat on the mat .\n";
  const std::string path = text("a.txt", words);
  TokenRules how = rules();
  how.documents.piece = 64;
  std::vector<TokenId> first;
  for (const int threads : {1, 2, 5}) {
    Context ctx({.threads = threads});
    const auto file = TokenCache(ctx, folder_.path(std::to_string(threads))).tokens_of(path, how);
    EXPECT_EQ(file->documents(), 1);
    if (first.empty()) first = all(*file);
    EXPECT_EQ(all(*file), first) << threads;
  }
}

TEST_F(TokenFiles, TellTheirProgressAndCanBeCancelled) {
  std::string words;
  for (int i = 0; i < 100000; ++i) words += "the cat sat on the mat .\n";  // more than is read at once
  const std::string path = text("a.txt", words), folder = folder_.path("tokens");
  Context ctx({.threads = 1});
  std::vector<double> told;
  Progress progress;
  progress.report = [&](const ProgressStep& step) {
    EXPECT_EQ(step.what, "tokenizing a.txt");
    told.push_back(step.done / step.total);
  };
  progress.cancelled = [&] { return told.size() == 1; };
  EXPECT_THROW((void)TokenCache(ctx, folder, progress).tokens_of(path, rules()), Cancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  told.clear();
  progress.cancelled = nullptr;
  (void)TokenCache(ctx, folder, progress).tokens_of(path, rules());
  ASSERT_GE(told.size(), 2U);
  EXPECT_GT(told.front(), 0);
  EXPECT_LT(told.front(), 1);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1);
}

TEST_F(TokenFiles, DamagedOnesAreRefused) {
  (void)cached(text("a.txt", "the cat sat on the mat"), rules());
  const std::string name = std::filesystem::directory_iterator(folder_.path("tokens"))->path().string();
  std::filesystem::resize_file(name, std::filesystem::file_size(name) - 8);
  expect_error([&] { (void)cached(folder_.path("a.txt"), rules()); }, ErrorKind::input, "tokens.form",
               "created again from the text");
  TokenRules endless = rules();
  endless.end.reset();
  endless.documents.separator = "|";
  expect_error([&] { (void)cached(folder_.path("a.txt"), endless); }, ErrorKind::input, "data.special",
               "has no end-of-text token");
}

TEST_F(TokenFiles, RowsAreReadAcrossFiles) {
  TokenRow row;
  const auto a = cached(text("a", "the cat sat"), rules()),
             b = cached(text("b", "on the mat , harry"), rules());
  row.append(a, 0, a->size());
  row.append(b, 1, b->size());
  ASSERT_EQ(row.size(), 7);
  std::vector<TokenId> ids(7), joined = all(*a);
  for (Index i = 1; i < b->size(); ++i) joined.push_back(all(*b)[static_cast<std::size_t>(i)]);
  row.read(0, ids);
  EXPECT_EQ(ids, joined);
  TokenRow rest = row.split_off(5);
  EXPECT_EQ(row.size(), 5);
  ASSERT_EQ(rest.size(), 2);
  ids.resize(2);
  rest.read(0, ids);
  EXPECT_EQ(ids, (std::vector<TokenId>{joined[5], joined[6]}));
  row.read(2, ids);
  EXPECT_EQ(ids, (std::vector<TokenId>{joined[2], joined[3]}));
  TokenRow memory(std::vector<TokenId>{1, 2, 3});
  EXPECT_EQ(memory.split_off(1).size(), 2);
  EXPECT_EQ(memory.size(), 1);
}

// A small version of tools/train-large-text: 40 MB of text are tokenized and read in windows by a process that may use
// 20 MB more than it does.
TEST_F(TokenFiles, SlowTextsLargerThanTheMemoryThatIsAllowed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need terabytes of address space";
#endif
  {
    std::ofstream out(folder_.path("large.txt"));
    std::string line;
    for (int i = 0; i < 1000; ++i) line += "the cat sat on the mat , harry potter lives here .\n";
    for (int i = 0; i < 800; ++i) out << line;
  }
  TokenRules how = rules();
  how.documents.piece = 1U << 18;
  EXPECT_EXIT(::_exit(tokens_in_little_memory(how)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace headlight::train
