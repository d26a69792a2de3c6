// Access control: rejects other origins, other host names, and requests without the token.
#pragma once

#include <string>
#include <string_view>

#include "serve/http_head.h"

namespace headlight::serve {

// 32 characters from the system's random numbers. Throws Error{resource} when there are none.
[[nodiscard]] std::string random_token();
// Constant time for texts of the same length.
[[nodiscard]] bool same_token(std::string_view given, std::string_view token);

struct Gate {
  int port = 0;
  std::string token;
  std::string lan = {};  // address of this machine in its network, if other machines may connect

  [[nodiscard]] std::string cookie_name() const;  // one per port, so that servers do not log each other out
  // 0 if the request is accepted, else the status of the answer. Does not need the body.
  [[nodiscard]] int refusal(const HttpHead& head) const;

 private:
  [[nodiscard]] int check_host(const HttpHead& head) const;
  [[nodiscard]] bool is_own_origin(std::string_view origin) const;
  [[nodiscard]] bool knows_token(const HttpHead& head) const;
};

// "401 …" as a sentence for the answer's body.
[[nodiscard]] std::string_view status_words(int status);

}  // namespace headlight::serve
