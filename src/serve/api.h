// The protocol of the page, /api/v1/…, without sockets. Safe to call from many threads.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/run.h"
#include "serve/answer.h"
#include "serve/answers.h"
#include "serve/playground_api.h"
#include "serve/run_cache.h"
#include "serve/work_queue.h"

namespace headlight::serve {

struct ModelPlace {
  std::string name, folder;
  std::string argument = {};  // value of --model that opens it; empty: the name
};

struct ApiOptions {
  std::vector<ModelPlace> models;        // the first one is the default
  std::string token, cookie;             // the cookie that /enter sets in the browser
  std::vector<std::string> corpus = {};  // texts to search
  int threads = 0;
  std::shared_ptr<Executor> executor = nullptr;  // threads for everything that runs models; null: `threads`
  std::function<void(const ModelPlace&, const Model&)> opened =
      nullptr;                                                 // called before the first run of a model
  std::function<void(const std::string&)> complain = nullptr;  // gets details that the client must not see
  // The course, /api/v1/learn…: text and pictures of chapters. Null: no course.
  std::function<Answer(const HttpRequest& http, std::span<const std::string_view> path)> course = nullptr;
  std::string save_folder = "runs";  // for models trained in the playground
};

class Api {
 public:
  explicit Api(ApiOptions options);

  // Loads the first model; throws its errors.
  void warm_up();
  [[nodiscard]] Answer answer(const HttpRequest& http);

 private:
  using Segments = std::vector<std::string_view>;
  struct Slot {
    ModelPlace place;
    std::optional<Model> model;
  };

  [[nodiscard]] Answer guarded(const std::function<Answer()>& work) const;  // exceptions become answers
  [[nodiscard]] Answer route(const HttpRequest& http);
  [[nodiscard]] Answer page(const HttpRequest& http) const;
  [[nodiscard]] Answer enter() const;
  [[nodiscard]] Answer models();
  [[nodiscard]] Answer corpus(const HttpRequest& http);
  [[nodiscard]] Answer start_run(const HttpRequest& http);
  [[nodiscard]] Answer of_run(const HttpRequest& http, const Segments& path);
  [[nodiscard]] Answer of_part(const HttpRequest& http, const Run& run, const Segments& path);
  [[nodiscard]] Answer of_head(const HttpRequest& http, const Run& run, const Head& head,
                               std::string_view what);
  [[nodiscard]] Answer next_token(const HttpRequest& http, const KeptRun& run);
  [[nodiscard]] Answer write(const HttpRequest& http, std::shared_ptr<const KeptRun> run);
  [[nodiscard]] Answer change(const HttpRequest& http, const KeptRun& run);
  [[nodiscard]] Answer sweep_some(const HttpRequest& http, const Run& run);
  [[nodiscard]] Answer labels(const HttpRequest& http, const KeptRun& run);
  [[nodiscard]] Answer lens(const HttpRequest& http, const KeptRun& run);
  [[nodiscard]] Answer links(const HttpRequest& http, const Run& run);
  [[nodiscard]] Answer saved_page(const HttpRequest& http, const KeptRun& run);
  [[nodiscard]] Answer figure(const HttpRequest& http, const KeptRun& run);
  [[nodiscard]] Answer run_of(const HttpRequest& http, const RunRequest& request);
  [[nodiscard]] Model model_of(const std::string& name);

  ApiOptions options_;
  WorkQueue queue_;
  WorkQueue writing_;  // a separate queue: a long continuation does not delay other requests
  RunCache runs_;
  LabelCache labels_;
  void add_model(const std::string& name, const std::string& folder);

  std::list<Slot> slots_;  // existing indices do not change; saved models are added at the end
  std::mutex slots_mutex_;
  std::string zipped_page_;
  PlaygroundApi playground_;
};

}  // namespace headlight::serve
