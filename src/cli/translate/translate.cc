// headlight translate: translates texts and evaluates translations.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "cli/translate/evaluation.h"
#include "cli/written_rows.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/write.h"
#include "io/json_writer.h"
#include "session/view.h"
#include "text/unicode.h"

namespace headlight::cli {
namespace {

struct TranslateSettings {
  std::string model = "en-fr", evaluate;
  std::vector<std::string> texts;
  Index beams = 4, most = 0, limit = 0, threads = 0;
  std::optional<double> length_penalty;
  bool any_words = false;
  RowSettings rows;
  bool steps = false;
  JsonTarget json;
};

void check_translates(const Model& model, const TranslateSettings& s) {
  const ModelInfo& info = model.info();
  if (info.kind != ModelKind::encoder_decoder) {
    const bool writes = info.kind == ModelKind::decoder;
    std::string hint;
    if (!info.recurrent)
      hint = concat(writes ? "\n"
                             "To continue a text: headlight generate --model "
                           : "\n"
                             "To show its attention: headlight show --model ",
                    escaped(s.model), " \"…\"");
    throw Error(ErrorKind::usage, "translate.kind",
                concat("the model \"", escaped(info.name), "\" does not translate: it has no ",
                       writes ? "encoder" : "decoder", hint));
  }
  if (info.recurrent && s.rows.show)
    throw Error(
        ErrorKind::usage, "translate.show",
        concat("the model \"", escaped(info.name), "\" is recurrent and has no heads; leave out --show"));
  if (model.tokenizer() == nullptr)
    throw Error(ErrorKind::input, "translate.tokenizer",
                concat("the model \"", escaped(info.name),
                       "\" has no tokenizer, so it cannot read text\n"
                       "Put its tokenizer.json next to config.json."));
}

// One line for each text, whatever the model generated.
std::string as_line(std::string text, const char* end = "\n") {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text + end;
}

// A model with its settings, ready for any number of texts.
class Translator {
 public:
  explicit Translator(const TranslateSettings& s)
      : model_(open_model(s.model, true)),
        ctx_(shared(Together::items,
                    {.threads = static_cast<int>(s.threads), .activations = Activations::rounded})) {
    check_translates(model_, s);
    options_ = {.beams = s.beams,
                .length_penalty = s.length_penalty.value_or(1),
                .max_tokens = s.most,
                .known_words = !s.any_words};
  }
  [[nodiscard]] const Model& model() const { return model_; }

  // The texts of the beam after each token, and then the translation.
  Translation translate_in_steps(const std::string& text) {
    options_.on_step = [step = 0](const BeamTexts& texts) mutable {
      std::string out = fmt::format("after {} token{}\n", step + 1, step == 0 ? "" : "s");
      ++step;
      for (const Translation& t : texts.continued)
        out += fmt::format("  {:8.4f}  {}\n", t.score, printable(as_line(t.text, "")));
      for (const Translation& t : texts.ended)
        out += fmt::format("  {:8.4f}  {}  (ended)\n", t.score, printable(as_line(t.text, "")));
      print(out + "\n");
    };
    return translate(std::span(&text, 1)).front();
  }

  std::vector<Translation> translate(std::span<const std::string> texts) {
    ProgressBar bar;
    const std::string doing = fmt::format("translating {} sentences", texts.size());
    Progress progress;
    if (texts.size() > 1)
      progress.report = [&](const ProgressStep& step) { bar.show(doing, step.done / step.total); };
    progress.tell(doing, 0, 1);
    std::vector<Translation> translations = headlight::translate(ctx_, model_, texts, options_, progress);
    options_.first_number += static_cast<Index>(texts.size());
    return translations;
  }

  // Lines with the attention of each token of a translation to its source. Beam search decides at the end, so the
  // weights are those of a run over the final translation.
  std::string rows(const std::string& text, const Translation& translation, const RowSettings& settings) {
    if (translation.ids.empty()) return {};
    const inspect::RowChoice choice = chosen_row(model_, Part::cross, settings);
    Context exact({.executor = ctx_.executor()});  // displayed attention is computed without rounding
    const Run run = attend_written(exact, model_, text, translation.ids, attend_to(Part::cross));
    ViewRequest request{.part = Part::cross, .every_weight = true};
    if (choice.head) request.heads = {{choice.layer, *choice.head}};
    else request.layer = choice.layer, request.mean = MeanOver::heads;
    const inspect::AttentionMap map = std::move(session::make_view(exact, run, request).numbers.front());
    const RowPrinter printer(model_, choice);
    const std::vector<std::string> keys = labels_of(run.source()), queries = labels_of(run.target());
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
  TranslateOptions options_;
};

void write(io::JsonWriter& w, const std::string& source, const Translation& translation,
           const Tokenizer& tokenizer) {
  w.begin_object().field("source", text::to_well_formed(source)).field("text", translation.text);
  w.field("ids", translation.ids).key("tokens").begin_list();
  for (const TokenId id : translation.ids) w.value(tokenizer.token(id));
  w.end_list().field("score", io::decimals(translation.score, 6)).end_object();
}

void run_texts(const TranslateSettings& s) {
  JsonOutput output(s.json);
  Translator translator(s);
  io::JsonWriter json;
  json.begin_object().field("model", translator.model().info().name).field("beams", s.beams);
  json.field("length_penalty", s.length_penalty.value_or(1));
  json.key("translations").begin_list(io::JsonLayout::lines);
  const auto translate = [&](const std::vector<std::string>& texts) {
    std::vector<Translation> translations;
    if (s.steps) translations.push_back(translator.translate_in_steps(texts.front()));
    else translations = translator.translate(texts);
    std::string lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!s.json.to_stdout()) lines += printable(as_line(translations[i].text));
      if (s.rows.show) lines += translator.rows(texts[i], translations[i], s.rows) + "\n";
      if (!s.json.path.empty()) write(json, texts[i], translations[i], *translator.model().tokenizer());
    }
    print(lines);
  };
  if (!s.texts.empty()) {
    translate(s.texts);
  } else {
    if (::isatty(STDIN_FILENO) == 1) print_error("one sentence per line; Ctrl-D ends\n");
    StandardLines input;
    for (std::vector<std::string> lines; input.read(lines);) translate(lines);
  }
  output.write(json.end_list().end_object().take_line());
}

void run_evaluation(const TranslateSettings& s) {
  JsonOutput output(s.json);
  TestSet set = read_test_set(s.evaluate, static_cast<std::size_t>(s.limit));
  Translator translator(s);
  const Index cut = cut_sources(set, translator.model());
  std::vector<std::string> translations;
  for (Translation& translation : translator.translate(set.sources))
    translations.push_back(std::move(translation.text));
  const TranslationScore score = score_translations(set, translations);
  output.write(evaluation_json(score, cut));
  if (!s.json.to_stdout()) print(evaluation_text(score));
  if (cut > 0) print_error(concat("note: ", cut_note(cut, set, translator.model()), "\n"));
}

void run(const TranslateSettings& s) {
  const auto refuse = [](std::string_view what) {
    throw Error(ErrorKind::usage, "translate.options", std::string(what));
  };
  if (!s.evaluate.empty() && !s.texts.empty())
    refuse("--evaluate reads sentences from a file; leave out TEXT");
  if (!s.rows.heads.empty() && !s.rows.show) refuse("--head needs --show");
  if (s.rows.show && (s.json.to_stdout() || !s.evaluate.empty()))
    refuse("--show prints text; leave out --evaluate, and give --json a file name");
  if (s.steps && (s.texts.size() != 1 || s.json.to_stdout()))
    refuse("--steps prints the beams of a single TEXT; give one, and --json a file name");
  if (s.evaluate.empty() && s.limit > 0) refuse("--limit needs --evaluate FILE");
  if (s.evaluate.empty()) run_texts(s);
  else run_evaluation(s);
}

}  // namespace

void add_translate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "translate",
       .what = "Translate texts, or evaluate a translator",
       .usage = "headlight translate [TEXT …] [--model NAME|PATH] [--beams N] [options]\n"
                "       headlight translate --evaluate FILE.tsv [options]",
       .examples =
           "  headlight translate \"The cat sat on the mat.\"\n"
           "  headlight translate --model opus-mt-en-de < english.txt > german.txt\n"
           "  headlight translate \"Where do you live?\" --show --head 3.5\n"
           "  headlight translate \"Where do you live?\" --steps --beams 2\n"
           "  headlight translate --evaluate test.tsv --json -\n"
           "\n"
           "  Without TEXT, every line of standard input is translated, in order.\n"
           "  --evaluate reads lines of source, tab, translation; lines with the same source are\n"
           "  references for one sentence. BLEU uses 13a tokenization. Sources beyond the context of\n"
           "  the model are cut and counted.\n"});
  const auto s = std::make_shared<TranslateSettings>();
  add_words(*command, "TEXT", s->texts, "Texts to translate (default: lines of standard input)")
      ->type_name("");
  add_model(*command, s->model);
  add_count(*command, "--beams", s->beams, "Number of beams (default: 4)", {1, 64});
  add_real(*command, "--length-penalty", s->length_penalty,
           "Exponent of the length in the score (default: 1)");
  add_count(*command, "--max-tokens", s->most, "Longest translation (default: twice the source + 16)",
            {1, 100000});
  add_switch(*command, "--any-words", s->any_words, "Do not prefer words of the model's known_words.txt");
  add_path(*command, "--evaluate", s->evaluate, "Measure BLEU and chrF2 on source-translation pairs")
      ->type_name("FILE.tsv");
  add_count(*command, "--limit", s->limit, "With --evaluate: use only the first N sentences",
            {1, 1000000000});
  begin_group(*command, "Output");
  add_rows(*command, s->rows);
  add_switch(*command, "--steps", s->steps, "Print the texts of the beam after each token");
  add_json(*command, s->json);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
