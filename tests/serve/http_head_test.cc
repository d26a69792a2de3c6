// Heads of requests: what is read, and what is refused before anybody acts on it.
#include "serve/http_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::serve {
namespace {

std::string head(std::string_view line, std::string_view headers = "Host: x\r\n") {
  return std::string(line) + "\r\n" + std::string(headers) + "\r\n";
}
int status(const std::string& bytes) { return parse_head(bytes).status; }

TEST(HttpHead, IsReadWhole) {
  const HttpHead h = parse_head(
      head("POST /api/v1/run?a=1&b=2 HTTP/1.1", "Host: a:1\r\nContent-Length: 12\r\nX-Y:  z \r\n"));
  EXPECT_EQ(h.status, 0);
  EXPECT_EQ(h.method, "POST");
  EXPECT_EQ(h.path, "/api/v1/run");
  EXPECT_EQ(h.query, "a=1&b=2");
  EXPECT_EQ(h.body, 12U);
  EXPECT_EQ(h.header("x-y"), "z");
  EXPECT_TRUE(h.keep_alive);
  EXPECT_FALSE(parse_head(head("GET / HTTP/1.1", "Connection: close\r\n")).keep_alive);
  EXPECT_FALSE(parse_head(head("GET / HTTP/1.0")).keep_alive);
}

TEST(HttpHead, LengthsThatTwoReadersCouldReadInTwoWaysAreRefused) {
  for (const char* value : {"-1", "+5", "1e3", "0x5", "5, 5", "", " ", "5 5", "99999999999999999999"}) {
    EXPECT_EQ(status(head("POST / HTTP/1.1", "Host: x\r\nContent-Length: " + std::string(value) + "\r\n")),
              400)
        << value;
  }
  EXPECT_EQ(status(head("POST / HTTP/1.1", "Content-Length: 5\r\nContent-Length: 5\r\n")), 400);
  EXPECT_EQ(status(head("POST / HTTP/1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(status(head("POST / HTTP/1.1", "Transfer-Encoding: gzip, chunked\r\n")), 400);
  EXPECT_EQ(status(head("POST / HTTP/1.1", "Transfer-Encoding: chunked\r\n")), 413);
}

TEST(HttpHead, BodiesHaveALimit) {
  const auto with = [](std::size_t n) { return "Content-Length: " + std::to_string(n) + "\r\n"; };
  EXPECT_EQ(status(head("POST / HTTP/1.1", with(kLongestBody))), 0);
  EXPECT_EQ(status(head("POST / HTTP/1.1", with(kLongestBody + 1))), 413);
  EXPECT_EQ(status(head("POST / HTTP/1.1", with(100'000'000))), 413);
}

TEST(HttpHead, LinesAndCharacters) {
  EXPECT_EQ(status("GET / HTTP/1.1\nHost: x\n\n"), 400);                 // bare line feeds
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: x\nEvil: y\r\n\r\n"), 400);  // one of them
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: x\rEvil: y\r\n\r\n"), 400);
  EXPECT_EQ(status(std::string("GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n", 29)), 400);  // a zero byte
  EXPECT_EQ(status(head("GET / HTTP/1.1", "Host : x\r\n")), 400);
  EXPECT_EQ(status(head("GET / HTTP/1.1", " folded: x\r\n")), 400);
  EXPECT_EQ(status(head("GET / HTTP/1.1", "no colon\r\n")), 400);
  EXPECT_EQ(status(head("GET /\xff HTTP/1.1")), 400);
  EXPECT_EQ(status(head("GET / x HTTP/1.1")), 400);
}

TEST(HttpHead, RequestLines) {
  EXPECT_EQ(status("GET /\r\n\r\n"), 400);  // HTTP/0.9
  EXPECT_EQ(status(head("GET / HTTP/9.9")), 505);
  EXPECT_EQ(status(head("GET / HTTP/2.0")), 505);
  EXPECT_EQ(status(head("GET / HTTP/1.1x")), 400);
  EXPECT_EQ(status(head("GET http://127.0.0.1/ HTTP/1.1")), 400);
  EXPECT_EQ(status(head("OPTIONS * HTTP/1.1")), 400);
  EXPECT_EQ(status(head(std::string(40000, 'G') + " / HTTP/1.1")), 400);
  EXPECT_EQ(status(head("\x16\x03\x01 / HTTP/1.1")), 400);  // TLS says hello
  EXPECT_EQ(status(head("GET /" + std::string(10000, 'a') + " HTTP/1.1")), 414);
  EXPECT_EQ(status(head("GET /" + std::string(kLongestTarget - 1, 'a') + " HTTP/1.1")), 0);
}

TEST(HttpHead, ManyAndLongHeaders) {
  std::string many;
  for (std::size_t i = 0; i < kMostHeaders; ++i) many += "A: b\r\n";
  EXPECT_EQ(status(head("GET / HTTP/1.1", many)), 0);
  EXPECT_EQ(status(head("GET / HTTP/1.1", many + "A: b\r\n")), 431);
  EXPECT_EQ(status(head("GET / HTTP/1.1", "A: " + std::string(kLongestLine, 'x') + "\r\n")), 431);
  EXPECT_EQ(status(head("GET / HTTP/1.1", "A: " + std::string(kLongestHead, 'x') + "\r\n")), 431);
}

TEST(HttpQuery, IsDecodedOrRefused) {
  const auto pairs = parse_query("a=1&b=x%20y+z&c=%C3%A9&d=");
  ASSERT_TRUE(pairs);
  EXPECT_THAT(*pairs, ::testing::ElementsAre(::testing::Pair("a", "1"), ::testing::Pair("b", "x y z"),
                                             ::testing::Pair("c", "é"), ::testing::Pair("d", "")));
  for (const char* bad : {"a=%", "a=%zz", "a=%00", "a=%ff", "=1", "a=1&a=2", "a=%ed%a0%80"})
    EXPECT_FALSE(parse_query(bad)) << bad;
}

}  // namespace
}  // namespace headlight::serve
