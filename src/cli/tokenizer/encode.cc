// headlight tokenizer encode and decode: shows the tokens of a text, and the text of tokens.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/map_look.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "cli/token_table.h"
#include "cli/tokenizer/commands.h"
#include "models/tokenizer_file.h"

namespace headlight::cli {
namespace {

struct EncodeSettings {
  std::string tokenizer;
  std::optional<std::string> text;
  std::vector<std::string> ids;
  bool only_ids = false, no_special = false;
  JsonTarget json;
  Color color = Color::automatic;
};

void run_encode(const EncodeSettings& s) {
  if (s.only_ids && s.json.to_stdout())
    refuse_option("--ids", "and --json exclude each other; give one of them");
  JsonOutput json(s.json);
  const Tokenizer tokenizer = models::load_tokenizer(find_files(s.tokenizer));
  const std::string text = s.text ? *s.text : read_standard_input();
  const SpecialTokens special = s.no_special ? SpecialTokens::leave_out : SpecialTokens::add;
  const std::vector<TokenPiece> pieces = tokenizer.encode_pieces(text, special);
  json.write(tokens_json(text, pieces, tokenizer) + "\n");
  if (s.json.to_stdout()) return;
  if (s.only_ids) {
    std::string line;
    for (const TokenId id : tokenizer.encode(text, special))
      line += fmt::format("{}{}", line.empty() ? "" : " ", id);
    print(line + "\n");
    return;
  }
  print(tokens_text(text, pieces, tokenizer, page_style(s.color, 60, 120)));
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r\n,", at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n,", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

void run_decode(const EncodeSettings& s) {
  const Tokenizer tokenizer = models::load_tokenizer(find_files(s.tokenizer));
  std::vector<std::string> words;
  for (const std::string& argument : s.ids) {
    const std::vector<std::string> more = split_words(argument);
    words.insert(words.end(), more.begin(), more.end());
  }
  if (s.ids.empty()) words = split_words(read_standard_input());
  std::vector<TokenId> ids;
  for (const std::string& word : words) {
    const std::optional<Index> id = parse_integer(word);
    if (!id || *id < 0 || *id >= tokenizer.size())
      refuse_value("ID", word, fmt::format("an id from 0 to {}", tokenizer.size() - 1));
    ids.push_back(static_cast<TokenId>(*id));
  }
  print(tokenizer.decode(ids, s.no_special ? SpecialTokens::leave_out : SpecialTokens::add) + "\n");
}

void add_tokenizer_path(CLI::App& command, std::string& path) {
  add_path(command, "--model,--tokenizer", path, "A model name or folder, or a tokenizer file")
      ->required()
      ->type_name("NAME|PATH");
}

}  // namespace

void add_tokenizer_encode(CLI::App& tokenizer) {
  CLI::App* command = add_command(
      tokenizer,
      {.name = "encode",
       .what = "Show the tokens of a text",
       .usage = "headlight tokenizer encode --model NAME|PATH [TEXT] [options]",
       .examples = "  headlight tokenizer encode --model en \"Once upon a time\"\n"
                   "  headlight tokenizer encode --tokenizer gpt2/tokenizer.json --ids < story.txt\n"
                   "  headlight tokenizer encode --tokenizer bert \"[MASK] is it\" --json\n"});
  const auto s = std::make_shared<EncodeSettings>();
  add_tokenizer_path(*command, s->tokenizer);
  add_words(*command, "TEXT", s->text, "The text (default: standard input)");
  add_switch(*command, "--ids", s->only_ids, "Print only the ids, on one line");
  add_switch(*command, "--no-special", s->no_special, "Add no special tokens around the text");
  add_json(*command, s->json);
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run_encode(*s); });
}

void add_tokenizer_decode(CLI::App& tokenizer) {
  CLI::App* command = add_command(
      tokenizer, {.name = "decode",
                  .what = "Convert token ids to text",
                  .usage = "headlight tokenizer decode --model NAME|PATH [ID …] [options]",
                  .examples = "  headlight tokenizer decode --tokenizer my-tokenizer 409 712 257\n"
                              "  headlight tokenizer decode --tokenizer T 15339 11 1917\n"});
  const auto s = std::make_shared<EncodeSettings>();
  add_tokenizer_path(*command, s->tokenizer);
  add_words(*command, "ID", s->ids, "Token ids, with spaces or commas (default: standard input)");
  add_switch(*command, "--no-special", s->no_special, "Leave out special tokens");
  keep_alive(*command, s);
  on_run(*command, [s] { run_decode(*s); });
}

}  // namespace headlight::cli
