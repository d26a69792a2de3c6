// Who may ask: hosts, origins, types and tokens, all combinations.
#include "serve/gate.h"

#include <gtest/gtest.h>

#include <set>

namespace headlight::serve {
namespace {

const Gate kGate{.port = 7437, .token = "0123456789abcdef0123456789abcdef"};

HttpHead request(const std::string& line, const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string bytes = line + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) bytes += name + ": " + value + "\r\n";
  return parse_head(bytes + "\r\n");
}
const std::pair<std::string, std::string> kHost = {"Host", "127.0.0.1:7437"},
                                          kJson = {"Content-Type", "application/json"},
                                          kToken = {"X-Headlight-Token", kGate.token};

TEST(Gate, OnlyOwnHosts) {
  for (const char* host : {"127.0.0.1:7437", "localhost:7437", "[::1]:7437"})
    EXPECT_EQ(kGate.refusal(request("GET /", {{"Host", host}})), 0) << host;
  for (const char* host : {"evil.example", "evil.example:7437", "127.0.0.1", "127.0.0.1:80",
                           "127.0.0.1.evil.example:7437", "me@127.0.0.1:7437", "127.0.0.1:7437@evil",
                           "LOCALHOST.evil:7437", "0.0.0.0:7437", "127.0.0.2:7437", ""})
    EXPECT_EQ(kGate.refusal(request("GET /", {{"Host", host}})), 403) << host;
  EXPECT_EQ(kGate.refusal(request("GET /", {})), 400);
  EXPECT_EQ(kGate.refusal(request("GET /", {kHost, kHost})), 400);
}

TEST(Gate, ChangingRequestsNeedOriginTypeAndToken) {
  const auto run = [](std::vector<std::pair<std::string, std::string>> headers) {
    headers.push_back(kHost);
    return kGate.refusal(request("POST /api/v1/run", headers));
  };
  EXPECT_EQ(run({kJson, kToken}), 0);
  EXPECT_EQ(run({kJson, kToken, {"Origin", "http://127.0.0.1:7437"}}), 0);
  EXPECT_EQ(run({kJson, kToken, {"Origin", "http://localhost:7437"}}), 0);
  for (const char* origin :
       {"null", "http://evil.example", "https://127.0.0.1:7437", "http://127.0.0.1:7438", "file://", ""})
    EXPECT_EQ(run({kJson, kToken, {"Origin", origin}}), 403) << origin;
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x", "application/jsonx", ""})
    EXPECT_EQ(run({{"Content-Type", type}, kToken}), 403) << type;
  EXPECT_EQ(run({kToken}), 403);
  EXPECT_EQ(run({kJson, kToken, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(run({kJson, kToken, {"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(run({kJson, kToken, {"Sec-Fetch-Site", "same-origin"}}), 0);
}

TEST(Gate, TokensAndCookies) {
  const auto models = [](const std::pair<std::string, std::string>& more) {
    return kGate.refusal(request("GET /api/v1/models", {kHost, more}));
  };
  EXPECT_EQ(kGate.refusal(request("GET /api/v1/models", {kHost})), 401);
  EXPECT_EQ(models(kToken), 0);
  EXPECT_EQ(models({"X-Headlight-Token", "wrong"}), 401);
  EXPECT_EQ(models({"X-Headlight-Token", ""}), 401);
  EXPECT_EQ(models({"Cookie", kGate.cookie_name() + "=" + kGate.token}), 0);
  EXPECT_EQ(models({"Cookie", "a=b; " + kGate.cookie_name() + "=" + kGate.token + "; c=d"}), 0);
  EXPECT_EQ(models({"Cookie", "headlight_7438=" + kGate.token}), 401);
  EXPECT_EQ(models({"Cookie", kGate.cookie_name() + "=" + std::string(32, 'x')}), 401);
  EXPECT_EQ(kGate.refusal(request("GET /", {kHost})), 0);  // the page itself tells nothing
  EXPECT_EQ(kGate.refusal(request("GET /api/v1/health", {kHost})), 0);
}

TEST(Gate, MethodsAndPreflights) {
  EXPECT_EQ(kGate.refusal(request("OPTIONS /api/v1/run", {kHost, {"Origin", "http://evil.example"}})), 403);
  for (const char* method : {"PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "FROB"})
    EXPECT_EQ(kGate.refusal(request(std::string(method) + " /", {kHost})), 405) << method;
}

TEST(Gate, NoCombinationPassesWithoutTheToken) {
  int passed = 0, all = 0;
  for (const char* host : {"127.0.0.1:7437", "localhost:7437", "evil.example", "127.0.0.1:1"})
    for (const char* origin : {"-", "null", "http://127.0.0.1:7437", "http://evil.example"})
      for (const char* type : {"-", "application/json", "text/plain"})
        for (const char* method : {"GET", "POST", "PUT", "OPTIONS"})
          for (const bool token : {false, true}) {
            std::vector<std::pair<std::string, std::string>> headers = {{"Host", host}};
            if (*origin != '-') headers.emplace_back("Origin", origin);
            if (*type != '-') headers.emplace_back("Content-Type", type);
            if (token) headers.push_back(kToken);
            const bool ok = kGate.refusal(request(std::string(method) + " /api/v1/models", headers)) == 0;
            const bool own_host = std::string(host).ends_with(":7437"),
                       own_origin = *origin == '-' || std::string(origin) == "http://127.0.0.1:7437";
            const bool known = std::string(method) == "GET" ||
                               (std::string(method) == "POST" && std::string(type) == "application/json");
            EXPECT_EQ(ok, token && own_host && own_origin && known)
                << host << " " << origin << " " << type << " " << method;
            passed += ok ? 1 : 0;
            ++all;
          }
  EXPECT_EQ(all, 384);
  EXPECT_EQ(passed, 2 * 2 * 4);
}

TEST(Gate, TokensAreRandomAndLong) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(random_token());
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(seen.begin()->size(), 32U);
  EXPECT_TRUE(same_token("abc", "abc"));
  EXPECT_FALSE(same_token("abd", "abc"));
  EXPECT_FALSE(same_token("ab", "abc"));
}

// In a network the machine's own address is a name too, and nothing else is.
TEST(Gate, TheNetworksAddressOnlyWhereItIsServed) {
  const auto head = [](const char* host) {
    return parse_head(std::string("GET /api/v1/models HTTP/1.1\r\nHost: ") + host +
                      "\r\nX-Headlight-Token: t\r\n\r\n");
  };
  const Gate own{.port = 80, .token = "t"}, shared{.port = 80, .token = "t", .lan = "10.0.0.7"};
  EXPECT_EQ(own.refusal(head("10.0.0.7:80")), 403);
  EXPECT_EQ(shared.refusal(head("10.0.0.7:80")), 0);
  EXPECT_EQ(shared.refusal(head("10.0.0.8:80")), 403);
  EXPECT_EQ(shared.refusal(head("127.0.0.1:80")), 0);
}

}  // namespace
}  // namespace headlight::serve
