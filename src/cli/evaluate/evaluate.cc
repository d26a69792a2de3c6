// headlight evaluate: how well models guess a text.
#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <memory>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/standard_input.h"
#include "cli/stop_signal.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/write.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

struct EvaluateSettings {
  std::string file, separator = "<|endoftext|>";
  ModelList models;
  Index context = 0, limit = 0, threads = 0;
  JsonTarget json;
};

struct Row {
  std::string model;
  Evaluation result;
};

std::vector<std::string> read_documents(const EvaluateSettings& s) {
  std::vector<std::string> documents = split_documents(read_text_file(s.file), s.separator);
  if (s.limit > 0 && static_cast<std::size_t>(s.limit) < documents.size())
    documents.resize(static_cast<std::size_t>(s.limit));
  if (documents.empty())
    throw Error(ErrorKind::input, "evaluate.empty",
                concat(escaped(s.file), ": has no text between separators"));
  return documents;
}

Evaluation evaluate(Context& ctx, const Model& model, const std::vector<std::string>& documents,
                    const EvaluateSettings& s) {
  const ModelInfo& info = model.info();
  if (model.tokenizer() == nullptr)
    throw Error(ErrorKind::input, "evaluate.tokenizer",
                concat("the model \"", escaped(info.name),
                       "\" has no tokenizer, so it cannot read text\n"
                       "Put its tokenizer.json next to config.json."));
  ProgressBar bar;
  const std::atomic<int>& stop = catch_stop_signals();
  const std::string doing = "reading with " + escaped(info.name, 40);
  const Progress progress{
      .report = [&](const ProgressStep& step) { bar.show(doing, step.done / step.total); },
      .cancelled = [&] { return stop != 0; }};
  try {
    return headlight::evaluate(ctx, model, documents, {.context = s.context}, progress);
  } catch (const Cancelled&) { throw Stopped{stop}; }
}

std::string table(const std::vector<Row>& rows) {
  std::size_t widest = 5;
  for (const Row& row : rows) widest = std::max(widest, row.model.size());
  std::string text = fmt::format("{:<{}}  nats/byte  bits/byte  nats/token  perplexity   tokens     bytes\n",
                                 "model", widest);
  for (const auto& [model, loss] : rows) {
    text += fmt::format("{:<{}}  {:9.4f}  {:9.4f}  {:10.4f}  {:10.2f}  {:7}  {:8}\n", model, widest,
                        loss.nats_per_byte(), loss.bits_per_byte(), loss.nats_per_token(), loss.perplexity(),
                        loss.tokens, loss.bytes);
  }
  return text +
         "Cross-entropy: lower is better. Compare models with different tokenizers per byte, not per "
         "token.\n";
}

std::string json(const std::string& file, const std::vector<Row>& rows) {
  io::JsonWriter w;
  w.begin_object().field("file", file).key("results").begin_list(io::JsonLayout::lines);
  for (const auto& [model, loss] : rows) {
    w.begin_object().field("model", model).field("nats_per_byte", io::decimals(loss.nats_per_byte(), 6));
    w.field("bits_per_byte", io::decimals(loss.bits_per_byte(), 6));
    w.field("nats_per_token", io::decimals(loss.nats_per_token(), 6));
    w.field("perplexity", io::decimals(loss.perplexity(), 6)).field("tokens", loss.tokens);
    w.field("bytes", loss.bytes).field("documents", loss.documents).end_object();
  }
  return w.end_list().end_object().take_line();
}

void run(EvaluateSettings s) {
  if (s.file.empty() && input_is_piped()) s.file = "-";
  if (s.file.empty()) need_option("FILE or piped text");
  JsonOutput output(s.json);
  const std::vector<std::string> documents = read_documents(s);
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  std::vector<Row> rows;
  for (const std::string& name : s.models.all("en")) {
    const Model model = open_model(name);
    rows.push_back({model.info().name, evaluate(ctx, model, documents, s)});
  }
  output.write(json(s.file, rows));
  if (!s.json.to_stdout()) print(printable(table(rows)));
}

}  // namespace

void add_evaluate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "evaluate",
       .what = "Measure the loss of language models on a text",
       .usage = "headlight evaluate [FILE] [--model NAME|PATH …] [--separator TEXT] [--json [FILE.json]]",
       .examples = "  headlight evaluate stories.txt\n"
                   "  headlight evaluate stories.txt --model en --model models/stories15M\n"
                   "  headlight evaluate book.txt.gz --model gpt2 --context 256 --json\n"
                   "  zcat book.txt.gz | headlight evaluate\n"
                   "\n"
                   "  Documents are separated by <|endoftext|> or --separator and evaluated one by one.\n"
                   "  To measure translations: headlight translate --evaluate FILE.tsv\n"});
  const auto s = std::make_shared<EvaluateSettings>();
  add_path(*command, "FILE", s->file, "The text, plain or .gz; - or no FILE: piped text");
  add_models(*command, s->models);
  add_text(*command, "--separator", s->separator, "Text between documents (default: <|endoftext|>)");
  add_count(*command, "--context", s->context, "Tokens a prediction may see (default: the model's)",
            {2, 1 << 20});
  add_count(*command, "--limit", s->limit, "Only the first N documents", {1, 1000000000});
  add_json(*command, s->json);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
