// headlight translate: texts from one language to another, and how good that is.
#include "models/translate.h"
#include "io/json_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "cli/translate/evaluation.h"
#include "cli/written_rows.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/subject.h"
#include "models/recurrent.h"
#include "models/tokenizer_file.h"
#include "text/unicode.h"

namespace headlight::cli {
namespace {

struct Settings {
  std::string model = "en-fr", evaluate;
  std::vector<std::string> texts;
  Index beams = 4, most = 0, limit = 0, threads = 0;
  std::optional<double> length_penalty;
  RowSettings rows;
  JsonTarget json;
};

// A transformer, which can be looked into, or a recurrent model to compare it with.
struct Model {
  inspect::Subject subject;
  std::unique_ptr<models::Writer> writer = nullptr;
};

void check_translates(const inspect::Subject& subject, const std::string& name) {
  const bool recurrent = subject.recurrent != nullptr;
  if (recurrent ? subject.recurrent->config().encoder_decoder
                : subject.model->config().kind == models::ModelKind::encoder_decoder)
    return;
  const bool writes = recurrent || subject.model->config().kind == models::ModelKind::decoder;
  std::string hint;
  if (!recurrent)
    hint = concat(writes ? "\nTo let it continue a text: headlight generate --model "
                         : "\nTo see what it looks at: headlight show --model ",
                  escaped(name), " \"…\"");
  throw Error(ErrorKind::usage, "translate.kind",
              concat("the model \"", escaped(subject.name), "\" does not translate: it has no ",
                     writes ? "encoder" : "decoder", hint));
}

Model open_translator(const Settings& s) {
  Model model{.subject = inspect::open_subject(s.model, model_places(), inspect::Accept::recurrent_too)};
  const inspect::Subject& subject = model.subject;
  check_translates(subject, s.model);
  if (subject.recurrent) model.writer = std::make_unique<models::RecurrentWriter>(*subject.recurrent);
  else model.writer = std::make_unique<models::TransformerWriter>(*subject.model);
  if (subject.recurrent && s.rows.show)
    throw Error(ErrorKind::usage, "translate.show",
                concat("the model \"", escaped(subject.name),
                       "\" is recurrent: --show looks into the heads of transformers"));
  if (!subject.tokenizer) {
    throw Error(
        ErrorKind::input, "translate.tokenizer",
        concat("the model \"", escaped(subject.name),
               "\" has no tokenizer, so texts cannot be read\nPut its tokenizer.json beside config.json."));
  }
  return model;
}

// A model with its settings, ready for any number of texts.
class Translator {
 public:
  explicit Translator(const Settings& s)
      : model_(open_translator(s)), ctx_({.threads = static_cast<int>(s.threads)}) {
    options_.beams = s.beams;
    options_.length_penalty = s.length_penalty.value_or(1);
    options_.most = s.most;
  }
  [[nodiscard]] const inspect::Subject& subject() const { return model_.subject; }

  std::vector<models::Translation> translate(std::span<const std::string> texts) {
    ProgressBar bar;
    const auto all = static_cast<double>(std::max<std::size_t>(texts.size(), 1));
    const std::string doing = fmt::format("translating {} sentences", texts.size());
    options_.on_progress = [&](Index done) {
      if (texts.size() > 1) bar.show(doing, static_cast<double>(done) / all);
    };
    options_.on_progress(0);
    auto translations = models::translate(ctx_, *model_.writer, *subject().tokenizer, texts, options_);
    options_.first_number += static_cast<Index>(texts.size());
    return translations;
  }

  // Lines of what each token of a translation looked at in its source. Beams decide at the end, so that the
  // weights are those of a run over the translation that has won.
  std::string rows(const std::string& text, const models::Translation& translation,
                   const RowSettings& settings) {
    if (translation.tokens.empty()) return {};
    const inspect::RowChoice choice = chosen_row(subject(), Part::cross, settings);
    const models::TransformerConfig& config = subject().model->config();
    std::vector<std::int32_t> written = translation.tokens;
    const Index limit = models::context_of(config);
    const bool ended = limit == 0 || static_cast<Index>(written.size()) < limit;
    if (config.end() >= 0 && ended) written.push_back(config.end());
    inspect::Question question;
    question.source = inspect::read_text(*subject().tokenizer, text);
    question.written = inspect::read_ids(&*subject().tokenizer, written, config.vocabulary);
    inspect::MapRequest request{.part = Part::cross};
    for (int head = 0; head < static_cast<int>(subject().heads(Part::cross)); ++head)
      if (!choice.head || *choice.head == head) request.heads.push_back({choice.layer, head});
    inspect::MapRecorder recorder(request);
    (void)inspect::watch(ctx_, subject(), question, recorder);
    const inspect::AttentionMap map = inspect::mean_of(recorder.maps(), "");
    const RowPrinter printer(subject(), choice);
    const std::vector<std::string> keys = question.source.labels(), queries = question.written.labels();
    std::string out = printer.heading();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto row = map.weights.begin() + static_cast<Index>(i) * map.columns;
      out += printer.line(queries[i], keys, {row, row + map.columns});
    }
    return out;
  }

 private:
  Model model_;
  Context ctx_;
  models::TranslateOptions options_;
};

void write(io::JsonWriter& w, const std::string& source, const models::Translation& translation,
           const Tokenizer& tokenizer) {
  w.begin_object().field("source", text::to_well_formed(source)).field("text", translation.text);
  w.field("ids", translation.tokens).key("tokens").begin_list();
  for (const std::int32_t id : translation.tokens) w.value(tokenizer.token(id));
  w.end_list().field("score", io::decimals(translation.score, 6)).end_object();
}

// One line for each text, whatever the model wrote.
std::string as_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text + "\n";
}

void run_texts(const Settings& s) {
  JsonOutput output(s.json);
  Translator translator(s);
  io::JsonWriter json;
  json.begin_object().field("model", translator.subject().name).field("beams", s.beams);
  json.field("length_penalty", s.length_penalty.value_or(1));
  json.key("translations").begin_list(io::JsonLayout::lines);
  const auto translate = [&](const std::vector<std::string>& texts) {
    const std::vector<models::Translation> translations = translator.translate(texts);
    std::string lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!s.json.to_stdout()) lines += printable(as_line(translations[i].text));
      if (s.rows.show) lines += translator.rows(texts[i], translations[i], s.rows) + "\n";
      if (!s.json.path.empty()) write(json, texts[i], translations[i], *translator.subject().tokenizer);
    }
    print(lines);
  };
  if (!s.texts.empty()) {
    translate(s.texts);
  } else {
    if (::isatty(STDIN_FILENO) == 1) print_error("one sentence a line; Ctrl-D ends\n");
    StandardLines input;
    for (std::vector<std::string> lines; input.read(lines);) translate(lines);
  }
  output.write(json.end_list().end_object().take_line());
}

void run_evaluation(const Settings& s) {
  JsonOutput output(s.json);
  const TestSet set = read_test_set(s.evaluate, static_cast<std::size_t>(s.limit));
  Translator translator(s);
  std::vector<std::string> translations;
  for (models::Translation& translation : translator.translate(set.sources))
    translations.push_back(std::move(translation.text));
  const Evaluation evaluation = evaluate(set, translations);
  output.write(evaluation_json(evaluation));
  if (!s.json.to_stdout()) print(evaluation_text(evaluation));
}

void run(const Settings& s) {
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorKind::usage, "translate.options", std::string(what));
  };
  if (!s.evaluate.empty() && !s.texts.empty())
    refuse("--evaluate takes its sentences from a file; leave TEXT out");
  if (!s.rows.heads.empty() && !s.rows.show) refuse("--head chooses what --show shows; give both");
  if (s.rows.show && (s.json.to_stdout() || !s.evaluate.empty()))
    refuse("--show prints lines for people; leave out --evaluate, and give --json a file");
  if (s.evaluate.empty() && s.limit > 0) refuse("--limit belongs to --evaluate FILE");
  if (s.evaluate.empty()) run_texts(s);
  else run_evaluation(s);
}

}  // namespace

void add_translate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "translate",
       .what = "Translate texts with an encoder-decoder, and measure how well",
       .usage =
           "headlight translate [TEXT …] [--model NAME|PATH] [--beams N] [--evaluate FILE.tsv] [options]",
       .examples = "  headlight translate \"The cat sat on the mat.\"\n"
                   "  headlight translate --model opus-mt-en-de < english.txt > german.txt\n"
                   "  headlight translate \"Where do you live?\" --show --head 3.5\n"
                   "  headlight translate --evaluate test.tsv --json -\n\n"
                   "  Without TEXT every line of standard input is translated; lines stay in order.\n"
                   "  --evaluate reads lines of source, tab, translation; lines with the same source are\n"
                   "  several references of one sentence. BLEU cuts words by the rules of 13a.\n"});
  const auto s = std::make_shared<Settings>();
  add_words(*command, "TEXT", s->texts, "Texts to translate (default: lines of standard input)")
      ->type_name("");
  add_model(*command, s->model);
  add_count(*command, "--beams", s->beams, "Beams of the search (default: 4)", {1, 64});
  add_real(*command, "--length-penalty", s->length_penalty,
           "Scores are divided by length to this power (default: 1)");
  add_count(*command, "--max-tokens", s->most, "The longest translation (default: twice the source, and 16)",
            {1, 100000});
  add_path(*command, "--evaluate", s->evaluate, "Measure BLEU and chrF2 on lines of source, tab, translation")
      ->type_name("FILE.tsv");
  add_count(*command, "--limit", s->limit, "With --evaluate: only the first N sentences", {1, 1000000000});
  add_rows(*command, s->rows);
  add_json_beside_texts(*command, s->json);
  add_count(*command, "--threads", s->threads, "Threads (default: one per core)", {1, 1024});
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
