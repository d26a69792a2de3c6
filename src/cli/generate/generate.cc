// headlight generate: a model continues a text.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/ranks.h"
#include "cli/sampling.h"
#include "cli/standard_input.h"
#include "cli/stop_signal.h"
#include "cli/terminal.h"
#include "cli/written_rows.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/chat.h"
#include "headlight/choices.h"
#include "headlight/error.h"
#include "headlight/write.h"
#include "inspect/encoded_text.h"
#include "io/json_writer.h"
#include "text/unicode.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongestPrompt = std::size_t{1} << 26;
constexpr int kBars = 64;  // of --show, where the terminal has room

struct GenerateSettings {
  std::string model = "en";
  std::vector<std::string> prompts, choices;
  std::vector<TokenId> ids;
  std::string system;
  bool chat = false;
  SamplingSettings sampling;
  Index threads = 0;
  bool only_new = false, ignore_end = false;
  RowSettings rows;
  JsonTarget json;
};

Model open_writer(const std::string& name, bool reads_text) {
  Model model = open_model(name);
  const ModelInfo& info = model.info();
  if (info.kind != ModelKind::decoder) {
    const bool translates = info.kind == ModelKind::encoder_decoder;
    throw Error(ErrorKind::usage, "generate.kind",
                concat("the model \"", escaped(info.name), "\" does not continue texts: it is an ",
                       translates ? "encoder-decoder\nTo let it translate: headlight translate --model "
                                  : "encoder\nTo show its attention: headlight show --model ",
                       escaped(name), " \"…\""));
  }
  if (model.tokenizer() == nullptr && reads_text)
    throw Error(ErrorKind::input, "generate.tokenizer",
                concat("the model \"", escaped(info.name),
                       "\" has no tokenizer, so a prompt cannot be read\nPut its tokenizer.json beside "
                       "config.json, or give token ids with --ids."));
  return model;
}

// Lines with the attention of each new token over all tokens before it.
class RowsOfText {
 public:
  RowsOfText(const Model& model, const RowSettings& settings)
      : model_(model),
        choice_(chosen_row(model, Part::decoder, settings)),
        printer_(model, choice_, kBars),
        row_(choice_) {}
  [[nodiscard]] Observer& observer() { return row_; }
  [[nodiscard]] std::string start(const std::vector<TokenId>& prompt) {
    keys_ = labels(prompt);
    return printer_.heading();
  }
  [[nodiscard]] std::string line(TokenId token) {
    const std::string label = labels({token})[0];
    std::string text = printer_.line(label, keys_, row_.weights());
    keys_.push_back(label);
    return text;
  }

 private:
  [[nodiscard]] std::vector<std::string> labels(const std::vector<TokenId>& ids) const {
    return inspect::read_ids(model_.tokenizer(), ids, model_.info().vocabulary).labels();
  }
  const Model& model_;
  inspect::RowChoice choice_;
  RowPrinter printer_;
  inspect::LastRow row_;
  std::vector<std::string> keys_;
};

// "5,17,3", as --ids reads it.
std::string list_of(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text += concat(text.empty() ? "" : ",", id);
  return text;
}

void write(io::JsonWriter& w, const std::string& prompt, const GeneratedText& text, std::string_view ending,
           const Tokenizer* tokenizer) {
  w.begin_object().field("prompt", text::to_well_formed(prompt)).field("prompt_ids", text.prompt_ids);
  w.field("text", text.text).field("ids", text.ids).key("tokens").begin_list();
  for (const TokenId id : text.ids) w.value(tokenizer != nullptr ? tokenizer->token(id) : concat("#", id));
  w.end_list().key("log_probabilities").begin_list();
  for (const double x : text.log_probabilities) w.value(io::decimals(x, 6));
  w.end_list().field("ended", ending).end_object();
}

std::string json_of(const GenerateSettings& s, const Model& model, const std::vector<std::string>& prompts,
                    const std::vector<GeneratedText>& texts, int signal) {
  io::JsonWriter w;
  w.begin_object().field("model", model.info().name).field("seed", s.sampling.options.seed);
  w.key("results").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool interrupted = texts[i].ending == Ending::stopped && !texts[i].stopped_by_string && signal != 0;
    write(w, prompts[i], texts[i], interrupted ? "signal" : name_of(texts[i].ending), model.tokenizer());
  }
  return w.end_list().end_object().take_line();
}

Prompt prompt_of(const GenerateSettings& s, const Model& model, const std::string& text) {
  if (!s.ids.empty()) return {.ids = s.ids};
  if (!s.chat) return {.text = text};
  std::vector<ChatMessage> messages;
  if (!s.system.empty()) messages.push_back({"system", s.system});
  messages.push_back({"user", text});
  return chat_prompt(model, messages);
}

// --choices: each with its probability, sorted in the text output, in the given order in JSON.
void choose(const GenerateSettings& s, const Model& model, const std::vector<std::string>& texts,
            JsonOutput& output) {
  Context ctx(shared(Together::products, {.threads = static_cast<int>(s.threads)}));
  io::JsonWriter w;
  w.begin_object().field("model", model.info().name).key("results").begin_list(io::JsonLayout::lines);
  std::string lines;
  for (const std::string& text : texts) {
    std::vector<ChoiceScore> scores = score_choices(ctx, model, prompt_of(s, model, text), s.choices);
    const auto best = std::max_element(scores.begin(), scores.end(), [](const auto& a, const auto& b) {
      return a.log_probability < b.log_probability;
    });
    w.begin_object().field("prompt", text::to_well_formed(text)).field("choice", best->text);
    w.key("choices").begin_list();
    for (const ChoiceScore& score : scores)
      w.begin_object()
          .field("text", score.text)
          .field("ids", score.ids)
          .field("log_probability", io::decimals(score.log_probability, 6))
          .field("share", io::decimals(score.share, 6))
          .end_object();
    w.end_list().end_object();
    std::stable_sort(scores.begin(), scores.end(),
                     [](const auto& a, const auto& b) { return a.share > b.share; });
    if (texts.size() > 1) lines += concat(lines.empty() ? "" : "\n", text, "\n");
    for (const ChoiceScore& score : scores)
      lines += fmt::format("{:7.4f}  {:10.4f}  {}\n", score.share, score.log_probability, score.text);
  }
  output.write(w.end_list().end_object().take_line());
  if (!s.json.to_stdout()) print(printable("  share   log-prob  choice\n" + lines));
}

// A single text is printed while it is generated, several one after another.
std::vector<GeneratedText> write_texts(const GenerateSettings& s, const Model& model,
                                       const std::vector<std::string>& texts) {
  const bool streams = texts.size() == 1 && !s.json.to_stdout();
  const bool only_new = s.only_new || s.chat, writes_ids = !s.ids.empty();
  std::vector<Prompt> prompts;
  for (const std::string& text : texts) prompts.push_back(prompt_of(s, model, text));
  GenerateOptions options = options_for(model, s.sampling);
  options.stop_at_end = !s.ignore_end;
  std::optional<RowsOfText> rows;
  if (s.rows.show) {
    rows.emplace(model, s.rows);
    options.observer = &rows->observer();
  }
  const std::atomic<int>& signal = catch_stop_signals();
  std::size_t shown = 0;
  std::string_view separator = only_new ? "" : ",";  // of ids
  options.on_start = [&](std::span<const GeneratedText> accepted) {
    if (rows) print(rows->start(accepted[0].prompt_ids));
    else if (streams && !only_new) print(writes_ids ? list_of(s.ids) : printable(texts[0]));
  };
  options.on_token = [&](const GeneratedToken& token) {
    if (rows) print(rows->line(token.id));
    else if (streams && writes_ids) print(concat(std::exchange(separator, ","), token.id));
    else if (streams && !token.text.empty()) print(printable(token.text));
    shown += token.text.size();
    return signal == 0;
  };
  Context ctx(shared(Together::products,
                     {.threads = static_cast<int>(s.threads), .activations = Activations::rounded}));
  std::vector<GeneratedText> written = generate(ctx, model, prompts, options);
  if (streams && !rows) print((writes_ids ? "" : printable(written[0].text.substr(shown))) + "\n");
  if (rows) print("\n");
  if (rows || (!streams && !s.json.to_stdout())) {
    std::string out;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<TokenId> ids = only_new ? std::vector<TokenId>() : s.ids;
      ids.insert(ids.end(), written[i].ids.begin(), written[i].ids.end());
      out += i == 0 ? "" : "\n";
      out += writes_ids ? list_of(ids) + "\n" : concat(only_new ? "" : texts[i], written[i].text, "\n");
    }
    print(printable(out));
  }
  return written;
}

void run(const GenerateSettings& s) {
  check_sampling(s.sampling);
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorKind::usage, "generate.options", std::string(what));
  };
  if (!s.rows.heads.empty() && !s.rows.show) refuse("--head needs --show");
  if (s.rows.show && s.json.to_stdout())
    refuse("--show and --json both write to standard output; give --json a file name");
  if (s.rows.show && s.prompts.size() > 1) refuse("--show prints the attention of one text; give one prompt");
  if (!s.system.empty() && !s.chat) refuse("--system needs --chat");
  if (!s.choices.empty() && s.rows.show) refuse("--choices generates no text; leave out --show");
  const bool reads_text = s.ids.empty();
  if (!reads_text && (!s.prompts.empty() || s.chat))
    refuse("--ids takes the place of PROMPT and --chat; give one of them");
  std::vector<std::string> prompts = s.prompts;
  if (!reads_text) prompts.emplace_back();
  if (prompts.empty()) {
    prompts.push_back(input_is_piped() ? read_standard_input(kLongestPrompt) : "");
    while (prompts[0].ends_with('\n') || prompts[0].ends_with('\r')) prompts[0].pop_back();
  }
  JsonOutput output(s.json);
  const Model model = open_writer(s.model, reads_text || !s.choices.empty());
  if (!s.choices.empty()) return choose(s, model, prompts, output);
  const std::vector<GeneratedText> texts = write_texts(s, model, prompts);
  const int signal = catch_stop_signals();
  output.write(json_of(s, model, prompts, texts, signal));
  if (signal != 0) throw Stopped{signal};
}

}  // namespace

void add_generate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "generate",
       .what = "Continue a text",
       .usage = "headlight generate [PROMPT …] [--model NAME|PATH] [--max-tokens N] [options]",
       .examples = "  headlight generate \"Once upon a time\" --temperature 0.8 --seed 3\n"
                   "  headlight generate --model models/gpt2 \"Paris is in\" --max-tokens 5\n"
                   "  headlight generate \"Q: Why? A:\" --stop \"Q:\" --only-new\n"
                   "  headlight generate \"One day\" \"The cat\" --json\n"
                   "  headlight generate \"Once upon a time\" --show --head 3.1\n"
                   "  headlight generate --model models/qwen2.5 --chat \"Why is the sky blue?\"\n"
                   "  headlight generate \"Is fire cold? Answer:\" --choices \" yes, no\"\n\n"
                   "  Rules apply in this order: repetition penalty, temperature, top-k, top-p, min-p.\n"
                   "  Several prompts are continued together. Without PROMPT, piped text is the prompt.\n"
                   "  Ctrl-C stops and keeps the text so far.\n"});
  const auto s = std::make_shared<GenerateSettings>();
  add_words(*command, "PROMPT", s->prompts, "Texts to continue (default: piped text, else nothing)")
      ->type_name("");
  add_model(*command, s->model);
  add_sampling(*command, s->sampling);
  add_switch(*command, "--ignore-end", s->ignore_end, "Continue past the end-of-text token");
  begin_group(*command, "Prompt");
  add_numbers(*command, "--ids", s->ids, "Continue these token ids, and print ids instead of text");
  add_switch(*command, "--chat", s->chat, "Wrap PROMPT in the model's chat template");
  add_text(*command, "--system", s->system, "With --chat: the system message");
  add_reader(
      *command, "--choices", [s = s.get()](const std::string& text) { s->choices = split_list(text); },
      "Rank these continuations instead of generating")
      ->type_name("A,B");
  begin_group(*command, "Output");
  add_switch(*command, "--only-new", s->only_new, "Print the continuation without the prompt");
  add_rows(*command, s->rows);
  add_json(*command, s->json);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
