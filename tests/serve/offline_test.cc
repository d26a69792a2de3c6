// The page as a file, the address of a view, and what the build put into the program.
#include "serve/offline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "headlight/error.h"
#include "io/gzip.h"
#include "serve/page.h"
#include "serve/view_address.h"
#include "support/small_models.h"

namespace headlight::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Page, IsWholeAndNamesItsOwnScriptOnly) {
  EXPECT_THAT(std::string(page_html()), ::testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(std::string(page_html().substr(page_html().size() - 8)), HasSubstr("</html>"));
  EXPECT_LT(io::gzip(page_html()).size(), 90'000U);
  const std::string policy = page_policy();
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("style-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

TEST(ViewAddress, IsWhatThePageReads) {
  EXPECT_EQ(view_address({.model = "en-fr",
                          .text = "The cat's mat & é",
                          .part = Part::cross,
                          .layer = 2,
                          .head = 5,
                          .queries = {3, 5}}),
            "m=en-fr&t=The%20cat%27s%20mat%20%26%20%C3%A9&p=cross&h=2.5&q=3,4");
  EXPECT_EQ(view_address({.text = "a", .second = "b c"}), "t=a&b=b%20c");
  EXPECT_EQ(view_address({}), "");
}

TEST(ShellQuoted, SurvivesAShell) {
  EXPECT_EQ(shell_quoted("en-fr"), "en-fr");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(OfflinePage, HoldsTheRunAndNothingThatRuns) {
  testing::TempFolder folder;
  std::filesystem::create_directory(folder.root() / "en");
  testing::write_small_model(folder.path("en"), testing::SmallKind::decoder);
  Context ctx;
  RunRequest request;
  request.model = "en";
  request.text = "</script><img src=x onerror=alert(1)> the cat";
  const auto run = make_run(ctx, Model::open(folder.path("en")), request, [] { return false; });
  const std::string page = offline_page(ctx, *run, {.at = "h=0.1"});
  EXPECT_THAT(page, Not(HasSubstr("onerror")));
  EXPECT_GT(page.size(), page_html().size() + 1000);
  EXPECT_EQ(page, offline_page(ctx, *run, {.at = "h=0.1"}));  // the same bytes every time
  try {
    (void)offline_page(ctx, *run, {.most_bytes = 1000});
    FAIL() << "too large, and nobody minded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_THAT(error.what(), HasSubstr("the limit is 0.0 MB"));
  }
}

TEST(Gzip, GoesThereAndBack) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x')}) {
    const std::string packed = io::gzip(text);
    EXPECT_EQ(io::gunzip(std::as_bytes(std::span(packed)), 1 << 20, "x"), text);
  }
}

}  // namespace
}  // namespace headlight::serve
