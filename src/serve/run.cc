#include "serve/run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/hash.h"
#include "serve/answer.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kGuesses = 12;

// Stops a computation whose client has gone.
class Watchman : public Observer {
 public:
  explicit Watchman(const std::function<bool()>& left) : left_(left) {}
  void on_attention(const AttentionEvent& /*event*/) override {
    if (left_()) throw ClientLeft{};
  }

 private:
  const std::function<bool()>& left_;
};

class Keeper : public Watchman {
 public:
  Keeper(std::vector<std::unique_ptr<StoredAttention>>& list, const std::function<bool()>& left)
      : Watchman(left), list_(list) {}
  void on_attention(const AttentionEvent& event) override {
    Watchman::on_attention(event);
    list_.push_back(std::make_unique<StoredAttention>(event));
  }

 private:
  std::vector<std::unique_ptr<StoredAttention>>& list_;
};

void check_length(const inspect::Reading& reading) {
  if (reading.size() <= kMostTokens) return;
  throw Error(ErrorKind::resource, "serve.length",
              concat("the text has ", reading.size(), " tokens; the page shows at most ", kMostTokens,
                     "\nheadlight show draws longer ones."));
}

Prediction predict(ConstTensorView logits, Index row, std::int32_t actual) {
  const Index vocabulary = logits.dim(1);
  std::vector<double> x(static_cast<std::size_t>(vocabulary));
  for (Index i = 0; i < vocabulary; ++i) x[static_cast<std::size_t>(i)] = logits.at(row, i);
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - top);
  const double lse = top + std::log(sum);
  const auto guess = [&](std::size_t i) {
    return Guess{static_cast<std::int32_t>(i), std::exp(x[i] - lse), x[i]};
  };
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(kGuesses, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; });
  Prediction out;
  for (std::size_t i = 0; i < count; ++i) out.tops.push_back(guess(order[i]));
  if (actual >= 0 && actual < vocabulary) {
    out.actual = guess(static_cast<std::size_t>(actual));
    out.rank = 1 + std::count_if(x.begin(), x.end(), [&](double value) { return value > out.actual.logit; });
  }
  return out;
}

// What each row of the logits is followed by: of a decoder the next token, of a translator the written one, of an
// encoder the token itself.
std::int32_t actual_token(const Run& run, Index row) {
  const models::ModelKind kind = run.subject->model->config().kind;
  const bool translates = kind == models::ModelKind::encoder_decoder;
  const auto& tokens = translates ? run.question.written.tokens : run.question.source.tokens;
  const auto at = static_cast<std::size_t>(kind == models::ModelKind::decoder ? row + 1 : row);
  return at < tokens.size() ? tokens[at].id : -1;
}

inspect::Reading read(const inspect::Subject& subject, const std::string& text) {
  if (!subject.tokenizer) {
    throw Error(ErrorKind::input, "serve.tokenizer",
                concat("\"", escaped(subject.name), "\" has no tokenizer, so it cannot read a text"));
  }
  return inspect::read_text(*subject.tokenizer, text);
}

inspect::Question question_of(Context& ctx, const inspect::Subject& subject, const RunRequest& request,
                              const std::function<bool()>& left) {
  const models::TransformerConfig& config = subject.model->config();
  if (!request.more.empty() && config.kind != models::ModelKind::decoder)
    throw Error(ErrorKind::usage, "serve.more", "only a model that writes has tokens after its text");
  inspect::Question question;
  if (!request.second.empty()) {
    question = inspect::pair_question(subject, request.text, request.second);
    check_length(question.source);
    return question;
  }
  question.source = read(subject, request.text);
  if (!request.more.empty()) {
    const inspect::Reading more = inspect::read_ids(&*subject.tokenizer, request.more, config.vocabulary);
    question.source.tokens.insert(question.source.tokens.end(), more.tokens.begin(), more.tokens.end());
    for (std::size_t i = question.source.tokens.size() - more.tokens.size();
         i < question.source.tokens.size(); ++i)
      question.source.tokens[i].begin = question.source.tokens[i].end = question.source.text.size();
  }
  check_length(question.source);
  if (config.kind != models::ModelKind::encoder_decoder) return question;
  if (!request.target.empty()) question.written = read(subject, request.target);
  else {
    Watchman watchman(left);
    models::SamplingOptions options;
    options.temperature = request.temperature;
    options.top_k = request.top_k;
    options.seed = static_cast<std::uint64_t>(request.seed);
    options.observer = &watchman;
    question.written = request.temperature > 0
                           ? inspect::draw_translation(ctx, subject, question.source, options)
                           : inspect::translate(ctx, subject, question.source, &watchman);
  }
  check_length(question.written);
  return question;
}

}  // namespace

std::string RunRequest::id() const {
  std::string all = concat(kVersion, '\0', model, '\0', text, '\0', second, '\0', target, '\0', temperature,
                           '\0', top_k, '\0', seed);
  for (const std::int32_t token : more) all += concat(",", token);
  return io::hash_text(all);
}

const StoredAttention* Run::find(Part part, Index layer) const {
  for (const auto& attention : attentions)
    if (attention->part() == part && attention->layer() == layer) return attention.get();
  return nullptr;
}

const inspect::Reading& Run::queries(Part part) const {
  if (subject->model->config().kind != models::ModelKind::encoder_decoder) return question.source;
  if (part == Part::encoder) return question.source;
  return part == Part::cross ? question.written : decoder_input;
}

const inspect::Reading& Run::keys(Part part) const {
  return part == Part::cross ? question.source : queries(part);
}

std::size_t Run::bytes() const {
  std::size_t sum = static_cast<std::size_t>(last_logits.empty() ? 0 : last_logits.shape().elements()) * 4;
  for (const auto& attention : attentions) sum += attention->bytes();
  return sum + predictions.size() * kGuesses * sizeof(Guess) + 65536;
}

std::shared_ptr<const Run> make_run(Context& ctx, std::shared_ptr<const inspect::Subject> subject,
                                    const RunRequest& request, const std::function<bool()>& left) {
  auto run = std::make_shared<Run>();
  run->id = request.id();
  run->request = request;
  run->subject = std::move(subject);
  run->question = question_of(ctx, *run->subject, request, left);
  if (left()) throw ClientLeft{};
  if (!run->question.written.tokens.empty())
    run->decoder_input = inspect::decoder_input(*run->subject, run->question.written);
  Keeper keeper(run->attentions, left);
  const Tensor logits = inspect::watch(ctx, *run->subject, run->question, keeper);
  if (logits.empty()) return run;
  const Index rows = logits.dim(0), vocabulary = logits.dim(1);
  for (Index row = 0; row < rows; ++row) {
    if (left()) throw ClientLeft{};
    run->predictions.push_back(predict(logits, row, actual_token(*run, row)));
  }
  run->last_logits = Tensor({1, vocabulary}, DType::f32);
  for (Index i = 0; i < vocabulary; ++i) run->last_logits.view().set(0, i, logits.at(rows - 1, i));
  return run;
}

RunRequest with_next_token(const Run& run, const models::SamplingOptions& options) {
  if (run.subject->model->config().kind != models::ModelKind::decoder) {
    throw Error(ErrorKind::usage, "serve.next",
                "only a model that writes goes on with a text; a translator's translation is drawn whole");
  }
  RunRequest next = run.request;
  const auto place = static_cast<Index>(next.more.size());
  const ConstTensorView row(run.last_logits.as<float>(), Shape{run.last_logits.dim(1)});
  next.more.push_back(models::choose_token(row, options, 0, place));
  return next;
}

}  // namespace headlight::serve
