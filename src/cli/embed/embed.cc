// headlight embed: texts as vectors.
#include "cli/embed/embed.h"

#include <fmt/format.h>

#include <memory>

#include "cli/app.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/standard_input.h"
#include "cli/stop_signal.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/embed.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "text/unicode.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kMostCompared = 12;  // most texts whose similarities fit on a terminal

struct EmbedSettings {
  std::string model, arrays;
  std::vector<std::string> texts;
  EmbedOptions options;
  Index threads = 0;
  JsonTarget json;
};

std::string json_of(const Model& model, const std::vector<std::string>& texts, const Embeddings& found) {
  io::JsonWriter w;
  w.begin_object().field("model", model.info().name).field("pooling", name_of(found.pooling));
  w.field("normalised", found.normalised).field("width", model.info().width);
  w.key("results").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    w.begin_object().field("text", text::to_well_formed(texts[i])).field("tokens", found.tokens[i]);
    w.key("vector").begin_list();
    for (Index d = 0; d < model.info().width; ++d) w.value(found.vectors.at(static_cast<Index>(i), d));
    w.end_list().end_object();
  }
  return w.end_list().end_object().take_line();
}

// The text output: similarities of the texts.
std::string table(const std::vector<std::string>& texts, const Embeddings& found) {
  std::string out = fmt::format("{} vector{} of {} numbers, {} of the tokens' vectors{}{}\n", texts.size(),
                                texts.size() == 1 ? "" : "s", found.vectors.dim(1), name_of(found.pooling),
                                found.normalised ? ", of length 1" : "",
                                found.source.empty() ? "" : concat(" (", escaped(found.source), ")"));
  if (texts.size() < 2 || texts.size() > kMostCompared)
    return out + "--json or --npy FOLDER has the numbers.\n";
  out += "\ncosine similarity\n";
  const Tensor similarities = cosine_similarities(found.vectors);
  for (Index i = 0; i < similarities.dim(0); ++i) {
    out += fmt::format("{:3} ", i + 1);
    for (Index j = 0; j <= i; ++j) out += fmt::format(" {:6.3f}", similarities.at(i, j));
    out += fmt::format("  {}\n", texts[static_cast<std::size_t>(i)]);
  }
  return out;
}

std::vector<std::string> texts_to_embed(const EmbedSettings& s) {
  if (!s.texts.empty()) return s.texts;
  std::vector<std::string> texts, lines;
  StandardLines input;
  while (input.read(lines)) texts.insert(texts.end(), lines.begin(), lines.end());
  if (texts.empty())
    throw Error(ErrorKind::usage, "embed.texts", "there is no text; give TEXT or pipe lines");
  return texts;
}

void run(const EmbedSettings& s) {
  if (s.model.empty())
    throw Error(ErrorKind::usage, "embed.model",
                "--model is missing: the folder or .gguf file of an encoder; none comes with the program");
  JsonOutput output(s.json);
  const Model model = open_model(s.model);
  print_notes(model.info().notices);
  const std::vector<std::string> texts = texts_to_embed(s);
  Context ctx({.threads = static_cast<int>(s.threads)});
  const std::atomic<int>& stop = catch_stop_signals();
  Embeddings found;
  try {
    found = embed(ctx, model, texts, s.options, {.report = nullptr, .cancelled = [&] { return stop != 0; }});
  } catch (const Cancelled&) { throw Stopped{stop}; }
  output.write(json_of(model, texts, found));
  if (!s.json.to_stdout()) print(printable(table(texts, found)));
  if (s.arrays.empty()) return;
  io::JsonWriter w;
  w.begin_object().field("model", model.info().name).field("texts", texts).end_object();
  std::vector<NamedTensor> arrays;
  arrays.push_back({"embeddings", std::move(found.vectors)});
  write_arrays(s.arrays, s.json, arrays, w.take_line());
}

}  // namespace

void add_embed(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "embed",
       .what = "Turn texts into vectors with a sentence encoder",
       .usage =
           "headlight embed [TEXT …] --model NAME|PATH [--pooling mean|first|max|last] [--json [FILE.json]] "
           "[--npy FOLDER]",
       .examples = "  headlight embed --model models/all-MiniLM-L6-v2 \"A cat sleeps.\" \"A dog barks.\"\n"
                   "  headlight embed --model models/bge-small --json < sentences.txt\n"
                   "  headlight embed --model models/bert --pooling first \"A cat.\" --npy vectors\n\n"
                   "  Defaults come from the model's files (modules.json, 1_Pooling).\n"
                   "  Without TEXT, each line of standard input is a text.\n"});
  const auto s = std::make_shared<EmbedSettings>();
  add_words(*command, "TEXT", s->texts, "Texts (default: the lines of standard input)")->type_name("");
  add_model(*command, s->model);
  add_reader(
      *command, "--pooling",
      [s = s.get()](const std::string& text) {
        for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::max, Pooling::last})
          if (text == name_of(pooling)) s->options.pooling = pooling;
        if (!s->options.pooling) refuse_value("--pooling", text, "one of mean, first, max, last");
      },
      "mean, first ([CLS]), max or last (default: the model's)")
      ->type_name("NAME");
  add_reader(
      *command, "--normalise",
      [s = s.get()](const std::string& text) {
        if (text != "yes" && text != "no") refuse_value("--normalise", text, "yes or no");
        s->options.normalise = text == "yes";
      },
      "Scale vectors to length 1 (default: the model's)")
      ->type_name("yes|no");
  begin_group(*command, "Output");
  add_json(*command, s->json);
  add_arrays(*command, s->arrays, "embeddings.npy");
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
