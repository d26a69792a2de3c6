// The playground's part of the protocol: /api/v1/train…. Pages request frames repeatedly; an answer waits until
// there is a new one, so the page draws as fast as the model learns, and after a reload it finds the run again.
#pragma once

#include <span>
#include <string_view>

#include "playground/toy_session.h"
#include "serve/answer.h"

namespace headlight::serve {

class PlaygroundApi {
 public:
  // The folder for saved models, and a function to call with the name and folder of each saved one.
  struct Options {
    int threads = 0;
    std::string folder = "runs";
    std::function<void(const std::string& name, const std::string& folder)> saved = nullptr;
    playground::ToyLimits limits = {};
  };
  explicit PlaygroundApi(Options options)
      : options_(std::move(options)), session_(options_.threads, options_.limits) {}

  // `path` is the part after "train": empty, or a run's number and a request to it. Throws BadRequest and Error.
  [[nodiscard]] Answer answer(const HttpRequest& http, std::span<const std::string_view> path);

 private:
  [[nodiscard]] Answer start(const HttpRequest& http);
  [[nodiscard]] Answer frames(const HttpRequest& http, int id);
  [[nodiscard]] Answer command(const HttpRequest& http, int id, std::string_view what);
  [[nodiscard]] Answer save(const HttpRequest& http, int id);
  [[nodiscard]] Answer filmstrip(const HttpRequest& http, int id);
  [[nodiscard]] Answer ablate(const HttpRequest& http, int id);

  Options options_;
  playground::ToySession session_;
};

}  // namespace headlight::serve
