// headlight tokenize: texts to ids, tokens and offsets, for scripts and for many lines at once.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/map_look.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "cli/token_table.h"
#include "core/concat.h"
#include "io/gzip.h"
#include "io/json.h"
#include "models/tokenizer_file.h"

namespace headlight::cli {
namespace {

struct TokenizeSettings {
  std::string model, file;
  bool jsonl = false, no_special = false;
  Color color = Color::automatic;
};

// Reads {"text": …} from each line; skips empty lines.
void run_lines(const Tokenizer& tokenizer, std::string_view input, const std::string& name,
               SpecialTokens special) {
  std::string out;
  for (std::size_t number = 1; !input.empty(); ++number) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const io::Json json = io::Json::parse(line, concat(name, ", line ", number));
    const std::string& text = json.text("text");
    out += tokens_json(text, tokenizer.encode_pieces(text, special), tokenizer) + "\n";
    if (out.size() > (std::size_t{1} << 16)) {
      print(out);
      out.clear();
    }
  }
  print(out);
}

void run(const TokenizeSettings& s) {
  const Tokenizer tokenizer = models::load_tokenizer(find_files(s.model));
  const std::string input = s.file.empty() ? read_standard_input() : io::read_text(s.file);
  const SpecialTokens special = s.no_special ? SpecialTokens::leave_out : SpecialTokens::add;
  if (s.jsonl) return run_lines(tokenizer, input, s.file.empty() ? "standard input" : s.file, special);
  print(tokens_text(input, tokenizer.encode_pieces(input, special), tokenizer, page_style(s.color, 60, 120)));
}

}  // namespace

void add_tokenize(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "tokenize",
       .what = "Tokenize texts with the tokenizer of a model",
       .usage = "headlight tokenize --model NAME|PATH [--jsonl] [--no-special] [FILE]",
       .examples = "  headlight tokenize --model en-fr story.txt\n"
                   "  echo '{\"text\": \"Once upon a time\"}' | headlight tokenize --model gpt2 --jsonl\n"
                   "\n"
                   "  With --jsonl, each input line {\"text\": …} gives a line\n"
                   "  {\"ids\": […], \"tokens\": […], \"offsets\": [[start, end], …], \"decoded\": …};\n"
                   "  offsets count characters. Without --jsonl the whole input is one text.\n"});
  const auto s = std::make_shared<TokenizeSettings>();
  add_path(*command, "--model", s->model,
           "A model name or folder, a tokenizer.json, a SentencePiece .model, a vocab.txt or a .gguf")
      ->required()
      ->type_name("NAME|PATH");
  add_switch(*command, "--jsonl", s->jsonl, "Read and write one JSON object per line");
  add_switch(*command, "--no-special", s->no_special, "Add no special tokens around the texts");
  add_path(*command, "FILE", s->file, "The input, plain or .gz (default: standard input)");
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
