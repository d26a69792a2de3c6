#include "serve/write_on.h"

#include <cmath>
#include <limits>
#include <optional>

#include "headlight/error.h"
#include "headlight/write.h"
#include "io/json_writer.h"
#include "serve/base64.h"
#include "serve/payload.h"

namespace headlight::serve {
namespace {

// The attention of the last token read, in all heads.
class LastRow : public Observer {
 public:
  explicit LastRow(Index known) : known_(known) {}  // tokens of the run: the page has their rows

  void on_attention(const AttentionEvent& event) override {
    const Index keys = event.keys(0), queries = event.queries(0);
    if (event.part != Part::decoder || keys <= known_) return;
    if (event.layer == 0) bytes_.clear();
    keys_ = keys;
    const Range seen = event.options.visible.keys_for(queries - 1, queries, keys);
    for (Index head = 0; head < event.q.dim(1); ++head) {
      const Tensor row = event.weights(0, head, {queries - 1, queries});
      for (Index j = 0; j < keys; ++j)
        append_number(bytes_, j >= seen.begin && j < seen.end ? row.as<float>()[j]
                                                              : std::numeric_limits<float>::quiet_NaN());
    }
  }
  [[nodiscard]] Index keys() const noexcept { return keys_; }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  Index known_, keys_ = 0;
  std::string bytes_;
};

std::string line_of(Context& ctx, const KeptRun& kept, const RunRequest& longer, double p,
                    const LastRow& row) {
  const Model& model = kept.run.model();
  const inspect::ModelInput input =
      session::input_of(ctx, model.state(), prompt_of(model, longer), session::Needs::source, {}, Progress{});
  io::JsonWriter w;
  w.begin_object().field("id", longer.id()).field("more", longer.more);
  w.field("source", io::JsonText{text_json(session::tokenized(input.source))}).field("p", p);
  return w.field("row", base64(row.bytes())).end_object().take_line();
}

}  // namespace

void write_on(Context& ctx, const KeptRun& kept, const models::SamplingOptions& options,
              const std::function<bool()>& left, const Send& send) {
  const Index known = kept.run.source().size();
  Prompt prompt;
  for (const Token& token : kept.run.source().tokens) prompt.ids.push_back(token.id);
  LastRow row(known);
  RunRequest longer = kept.request;
  Index chosen = 0;
  bool is_there = true;
  std::optional<double> p;  // of the last token, until it is sent
  // The attention of a token is known once the model has read it, so it is sent when the next token is chosen.
  const auto send_last = [&] {
    if (!p || row.keys() != known + chosen) return;
    is_there = send(line_of(ctx, kept, longer, *p, row));
    p.reset();
  };
  GenerateOptions request{.max_tokens = options.most + 1,
                          .temperature = options.temperature,
                          .top_k = options.top_k,
                          .seed = options.seed,
                          .observer = &row};
  request.progress.cancelled = left;
  request.on_token = [&](const GeneratedToken& token) {
    send_last();
    if (!is_there || chosen == options.most) return false;
    ++chosen;
    longer.more.push_back(token.id);
    p = std::exp(token.log_probability);
    return true;
  };
  const GeneratedText text = generate(ctx, kept.run.model(), std::span(&prompt, 1), request).front();
  send_last();
  const Ending ending = chosen == options.most ? Ending::length : text.ending;
  (void)send(io::JsonWriter().begin_object().field("end", name_of(ending)).end_object().take_line());
}

}  // namespace headlight::serve
