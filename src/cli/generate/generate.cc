// headlight generate: a model goes on with a text.
#include "models/generate.h"
#include "io/json_writer.h"

#include <memory>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/standard_input.h"
#include "cli/stop_signal.h"
#include "cli/terminal.h"
#include "cli/written_rows.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/subject.h"
#include "text/text_stream.h"
#include "text/unicode.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongestPrompt = std::size_t{1} << 26;
constexpr int kBars = 64;  // of --show, where the terminal has room

struct Settings {
  std::string model = "en";
  std::vector<std::string> prompts, stops;
  Index most = 200, top_k = 0, seed = 0, threads = 0;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  bool only_new = false, ignore_end = false;
  RowSettings rows;
  JsonTarget json;
};

inspect::Subject open_writer(const std::string& name) {
  inspect::Subject subject = inspect::open_subject(name, model_places());
  const models::ModelKind kind = subject.model->config().kind;
  if (kind != models::ModelKind::decoder) {
    const bool translates = kind == models::ModelKind::encoder_decoder;
    throw Error(ErrorKind::usage, "generate.kind",
                concat("the model \"", escaped(subject.name), "\" does not continue texts: it is an ",
                       translates ? "encoder-decoder\nTo let it translate: headlight translate --model "
                                  : "encoder\nTo see what it looks at: headlight show --model ",
                       escaped(name), " \"…\""));
  }
  if (!subject.tokenizer) {
    throw Error(ErrorKind::input, "generate.tokenizer",
                concat("the model \"", escaped(subject.name),
                       "\" has no tokenizer, so a prompt cannot be read\nPut its tokenizer.json beside "
                       "config.json."));
  }
  return subject;
}

models::SamplingOptions sampling_of(const Settings& s) {
  models::SamplingOptions o;
  o.most = s.most;
  o.temperature = s.temperature.value_or(0);
  o.top_k = s.top_k;
  o.top_p = s.top_p.value_or(1);
  o.min_p = s.min_p.value_or(0);
  o.repetition_penalty = s.repetition_penalty.value_or(1);
  o.seed = static_cast<std::uint64_t>(s.seed);
  o.stop_at_eos = !s.ignore_end;
  return o;
}

// An end that the tokenizer puts behind every text is left out: the text is to go on. A prompt without any token
// starts where the model's training texts started.
std::vector<std::int32_t> read_prompt(const inspect::Subject& subject, const std::string& prompt,
                                      std::size_t number) {
  const models::TransformerConfig& config = subject.model->config();
  std::vector<TokenPiece> pieces = subject.tokenizer->encode_pieces(prompt);
  if (!pieces.empty() && pieces.back().added && config.is_end(pieces.back().id)) pieces.pop_back();
  std::vector<std::int32_t> ids;
  ids.reserve(pieces.size());
  for (const TokenPiece& piece : pieces) ids.push_back(piece.id);
  if (ids.empty()) {
    const std::int32_t start = config.bos >= 0 ? config.bos : config.end();
    if (start < 0) throw Error(ErrorKind::input, "generate.prompt", "the prompt is empty; give a few words");
    ids.push_back(start);
  }
  const Index limit = models::context_of(config);
  if (limit > 0 && static_cast<Index>(ids.size()) > limit) {
    throw Error(
        ErrorKind::input, "generate.length",
        concat("prompt ", number + 1, " has ", ids.size(), " tokens; the model \"", escaped(subject.name),
               "\" reads at most ", limit, "\nShorten it: cutting it silently would continue another text."));
  }
  return ids;
}

// What becomes of one prompt while its tokens come.
struct Story {
  std::string prompt;
  std::vector<std::int32_t> prompt_ids;
  text::TokenText text;
  text::StopStrings stops;
  std::string written = {};
  bool stopped_by_string = false;

  // Returns what can be shown now.
  std::string add(std::int32_t token) {
    std::string fresh = stops.add(text.add(token));
    stopped_by_string = stops.found();
    written += fresh;
    return fresh;
  }
  std::string finish() {
    if (stopped_by_string) return {};
    std::string rest = stops.add(text.finish());
    rest += stops.finish();
    written += rest;
    return rest;
  }
};

void write(io::JsonWriter& w, const Story& story, const models::Continuation& c, std::string_view ending,
           const Tokenizer& tokenizer) {
  w.begin_object().field("prompt", text::to_well_formed(story.prompt)).field("prompt_ids", story.prompt_ids);
  w.field("text", story.written).field("ids", c.tokens).key("tokens").begin_list();
  for (const std::int32_t id : c.tokens) w.value(tokenizer.token(id));
  w.end_list().key("log_probabilities").begin_list();
  for (const double x : c.log_probabilities) w.value(io::decimals(x, 6));
  w.end_list().field("ended", ending).end_object();
}

// Lines of what each new token looked at: all tokens before it.
class RowsOfStory {
 public:
  RowsOfStory(const inspect::Subject& subject, const RowSettings& settings,
              const std::vector<std::int32_t>& prompt)
      : subject_(subject),
        choice_(chosen_row(subject, Part::decoder, settings)),
        printer_(subject, choice_, kBars),
        row_(choice_),
        keys_(read(prompt).labels()) {}
  [[nodiscard]] Observer& observer() { return row_; }
  [[nodiscard]] std::string heading() const { return printer_.heading(); }
  [[nodiscard]] std::string line(std::int32_t token) {
    const std::string label = read({token}).labels()[0];
    std::string text = printer_.line(label, keys_, row_.weights());
    keys_.push_back(label);
    return text;
  }

 private:
  [[nodiscard]] inspect::Reading read(const std::vector<std::int32_t>& ids) const {
    return inspect::read_ids(&*subject_.tokenizer, ids, subject_.model->config().vocabulary);
  }
  const inspect::Subject& subject_;
  inspect::RowChoice choice_;
  RowPrinter printer_;
  inspect::LastRow row_;
  std::vector<std::string> keys_;
};

class Generation {
 public:
  explicit Generation(const Settings& s)
      : s_(s),
        subject_(open_writer(s.model)),
        ctx_({.threads = static_cast<int>(s.threads), .activations = Activations::rounded}) {}

  void run(const std::vector<std::string>& prompts) {
    models::Tokens tokens;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      std::vector<std::int32_t> ids = read_prompt(subject_, prompts[i], i);
      tokens.append(ids);
      stories_.push_back(
          {prompts[i], ids, text::TokenText(*subject_.tokenizer, ids), text::StopStrings(s_.stops)});
    }
    // One story is told while it comes, several in turn.
    const bool streams = stories_.size() == 1 && !s_.json.to_stdout();
    models::SamplingOptions options = sampling_of(s_);
    std::optional<RowsOfStory> rows;
    if (s_.rows.show) {
      rows.emplace(subject_, s_.rows, stories_[0].prompt_ids);
      options.observer = &rows->observer();
      print(rows->heading());
    } else if (streams && !s_.only_new) {
      print(printable(prompts[0]));
    }
    const std::atomic<int>& signal = catch_stop_signals();
    options.on_token = [&](const models::NewToken& token) {
      Story& story = stories_[static_cast<std::size_t>(token.item)];
      const std::string fresh = story.add(token.token);
      if (rows) print(rows->line(token.token));
      else if (streams && !fresh.empty()) print(printable(fresh));
      return !story.stopped_by_string && signal == 0;
    };
    results_ = models::continue_prompts(ctx_, *subject_.model, tokens, options);
    for (Story& story : stories_) {
      const std::string rest = story.finish();
      if (streams && !rows) print(printable(rest) + "\n");
    }
    if (rows) print("\n");
    if (rows || (!streams && !s_.json.to_stdout())) print_all();
  }

  [[nodiscard]] std::string json(int signal) const {
    io::JsonWriter w;
    w.begin_object().field("model", subject_.name).field("seed", s_.seed);
    w.key("results").begin_list(io::JsonLayout::lines);
    for (std::size_t i = 0; i < stories_.size(); ++i) {
      std::string_view ending = name_of(results_[i].ending);
      if (results_[i].ending == models::Ending::stopped && !stories_[i].stopped_by_string && signal != 0)
        ending = "signal";
      write(w, stories_[i], results_[i], ending, *subject_.tokenizer);
    }
    return w.end_list().end_object().take_line();
  }

 private:
  void print_all() const {
    std::string out;
    for (const Story& story : stories_)
      out += concat(out.empty() ? "" : "\n", s_.only_new ? "" : story.prompt, story.written, "\n");
    print(printable(out));
  }

  const Settings& s_;
  inspect::Subject subject_;
  Context ctx_;
  std::vector<Story> stories_;
  std::vector<models::Continuation> results_;
};

void run(const Settings& s) {
  models::check(sampling_of(s));
  for (const std::string& stop : s.stops)
    if (stop.empty()) refuse_value("--stop", stop, "a text");
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorKind::usage, "generate.options", std::string(what));
  };
  if (!s.rows.heads.empty() && !s.rows.show) refuse("--head chooses what --show shows; give both");
  if (s.rows.show && s.json.to_stdout())
    refuse("--show prints lines for people; give --json a file beside it");
  if (s.rows.show && s.prompts.size() > 1) refuse("--show watches one text being written; give one prompt");
  std::vector<std::string> prompts = s.prompts;
  if (prompts.empty()) {
    prompts.push_back(input_is_piped() ? read_standard_input(kLongestPrompt) : "");
    while (prompts[0].ends_with('\n') || prompts[0].ends_with('\r')) prompts[0].pop_back();
  }
  JsonOutput output(s.json);
  Generation generation(s);
  generation.run(prompts);
  const int signal = catch_stop_signals();
  output.write(generation.json(signal));
  if (signal != 0) throw Stopped{signal};
}

void add_sampling(CLI::App& command, Settings& s) {
  add_count(command, "--max-tokens", s.most, "Tokens to write at most (default: 200)", {1, 1000000});
  add_real(command, "--temperature", s.temperature,
           "0: always the likeliest token (default); 0.8: lively; above 1: wild");
  add_count(command, "--top-k", s.top_k, "Only among the N likeliest tokens", {1, 1000000000});
  add_real(command, "--top-p", s.top_p, "Only among the likeliest that have this probability together");
  add_real(command, "--min-p", s.min_p, "Only tokens at least X times as likely as the likeliest");
  add_real(command, "--repetition-penalty", s.repetition_penalty,
           "Above 1: tokens that are there already become less likely");
  add_count(command, "--seed", s.seed, "Of the draws: the same seed gives the same text (default: 0)");
  add_words(command, "--stop", s.stops, "End before this text; may be given several times")
      ->type_name("TEXT")
      ->one_at_a_time();
  add_switch(command, "--ignore-end", s.ignore_end, "Go on where the model would end");
}

}  // namespace

void add_generate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "generate",
       .what = "Let a model continue a text",
       .usage =
           "headlight generate [PROMPT …] [--model NAME|PATH] [--temperature X] [--max-tokens N] [options]",
       .examples = "  headlight generate \"Once upon a time\" --temperature 0.8 --seed 3\n"
                   "  headlight generate --model models/gpt2 \"The capital of France is\" --max-tokens 5\n"
                   "  headlight generate \"Question: why?\" --stop \"Question:\" --only-new\n"
                   "  headlight generate \"One day\" \"The cat\" --json\n"
                   "  headlight generate \"Once upon a time\" --show --head 3.1\n\n"
                   "  Rules apply in this order: repetition penalty, temperature, top-k, top-p, min-p.\n"
                   "  Several prompts are continued together. Without PROMPT piped text is one.\n"
                   "  Ctrl-C ends the text where it is.\n"});
  const auto s = std::make_shared<Settings>();
  add_words(*command, "PROMPT", s->prompts, "Texts to continue (default: piped text, else nothing)")
      ->type_name("");
  add_model(*command, s->model);
  add_sampling(*command, *s);
  add_switch(*command, "--only-new", s->only_new, "Print the continuation without the prompt");
  add_rows(*command, s->rows);
  add_json_beside_texts(*command, s->json);
  add_count(*command, "--threads", s->threads, "Threads (default: one per core)", {1, 1024});
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
