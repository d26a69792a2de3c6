// headlight tokenizer train: a vocabulary from text files, written as tokenizer.json.
#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "cli/tokenizer/commands.h"
#include "io/gzip.h"
#include "io/outputs.h"
#include "models/tokenizer_file.h"
#include "text/train.h"

namespace headlight::cli {
namespace {

using text::TokenizerKind;

struct TokenizerTrainSettings {
  TokenizerKind kind = TokenizerKind::bpe;
  std::optional<Index> vocab, min_frequency;
  std::optional<std::vector<std::string>> special;
  std::string around, out;
  std::vector<std::string> files;
  bool lowercase = false, elisions = false, force = false;
};

bool is_table(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path.ends_with(".tsv");
}

// The files as texts: every cell of tables, and pieces of about a megabyte that end with a line for others.
class Texts {
 public:
  Texts(const std::vector<std::string>& files, ProgressBar& progress) : files_(files), progress_(progress) {
    std::error_code ignored;
    for (const std::string& file : files) {
      const std::uintmax_t size = std::filesystem::file_size(file, ignored);
      sizes_.push_back(ignored ? 0.0 : static_cast<double>(size));
    }
    for (const double size : sizes_) all_ += size;
  }

  bool next(std::string& text) {
    while (at_ >= content_.size()) {
      if (file_ == files_.size()) return false;
      content_ = io::read_text(files_[file_]);
      table_ = is_table(files_[file_]);
      bytes_ += content_.size();
      at_ = 0;
      ++file_;
    }
    const std::string_view rest = std::string_view(content_).substr(at_);
    std::size_t end = 0;
    if (table_) {
      end = std::min(rest.find_first_of("\t\n"), rest.size());
      text = rest.substr(0, end);
      end = std::min(end + 1, rest.size());
    } else {
      constexpr std::size_t kPiece = std::size_t{1} << 20;
      end = rest.size() <= kPiece ? rest.size() : std::min(rest.find('\n', kPiece), rest.size() - 1) + 1;
      text = rest.substr(0, end);
    }
    at_ += end;
    show();
    return true;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void show() {
    double done = 0;
    for (std::size_t i = 0; i + 1 < file_; ++i) done += sizes_[i];
    done += sizes_[file_ - 1] * static_cast<double>(at_) / static_cast<double>(content_.size());
    progress_.show("counting words", all_ > 0 ? done / all_ : 0);
  }

  const std::vector<std::string>& files_;
  ProgressBar& progress_;
  std::vector<double> sizes_;
  double all_ = 0;
  std::string content_;
  std::size_t file_ = 0, at_ = 0, bytes_ = 0;
  bool table_ = false;
};

text::TokenizerTraining training_of(const TokenizerTrainSettings& s, ProgressBar& progress) {
  text::TokenizerTraining training;
  training.kind = s.kind;
  training.special = s.special.value_or(text::usual_special_tokens(s.kind));
  const bool symbols = s.kind == TokenizerKind::characters || s.kind == TokenizerKind::bytes;
  training.vocab = static_cast<std::int32_t>(s.vocab.value_or(symbols ? 1 << 20 : 8192));
  training.min_frequency = s.min_frequency.value_or(symbols ? 1 : 2);
  training.lowercase = s.lowercase;
  training.elisions = s.elisions;
  training.around = s.around;
  training.progress = [&progress](std::string_view doing, double done) {
    if (done >= 0) progress.show(doing, done);
  };
  return training;
}

std::string sample_of(const Tokenizer& tokenizer, std::size_t specials) {
  std::string line;
  const auto size = static_cast<std::size_t>(tokenizer.size());
  constexpr std::size_t kShown = 8;
  for (std::size_t i = std::max(specials, size > kShown ? size - kShown : 0); i < size; ++i)
    line += fmt::format(" {}", escaped(tokenizer.token(static_cast<TokenId>(i)), 40));
  return line;
}

void run(const TokenizerTrainSettings& s) {
  const auto start = std::chrono::steady_clock::now();
  const std::string path = (std::filesystem::path(s.out) / "tokenizer.json").string();
  io::Outputs outputs(s.force ? io::Existing::replace : io::Existing::refuse);
  std::filesystem::create_directories(s.out);
  outputs.reserve(path);
  ProgressBar progress;
  Texts texts(s.files, progress);
  const text::TokenizerTraining training = training_of(s, progress);
  const Tokenizer tokenizer =
      text::train_tokenizer([&](std::string& text) { return texts.next(text); }, training);
  const std::string json = models::tokenizer_to_json(tokenizer);
  outputs.write(path, std::as_bytes(std::span(json)));
  outputs.commit();
  progress.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  print(fmt::format("{}: {} tokens from {:.1f} MB of text in {:.1f} s\n", escaped(path), tokenizer.size(),
                    static_cast<double>(texts.bytes()) * 1e-6, seconds));
  if (s.vocab && tokenizer.size() < *s.vocab && s.kind != TokenizerKind::bytes)
    print(fmt::format("  {} were requested; the text does not provide more\n", *s.vocab));
  print(fmt::format("  last learned:{}\n", sample_of(tokenizer, training.special.size())));
}

std::vector<std::string> read_special(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    tokens.push_back(text.substr(begin, end - begin));
    if (tokens.back().empty())
      refuse_value("--special", text, "a list without empty items, such as \"<pad>,<s>\"");
    begin = end + 1;
  }
  return tokens;
}

}  // namespace

void add_tokenizer_train(CLI::App& tokenizer) {
  CLI::App* command = add_command(
      tokenizer,
      {.name = "train",
       .what = "Train a vocabulary on text files",
       .usage = "headlight tokenizer train [--kind KIND] [--vocab N] FILES -o DIR [options]",
       .examples =
           "  headlight tokenizer train stories.txt -o my-tokenizer\n"
           "  headlight tokenizer train --kind unigram --vocab 4000 en-fr.tsv.gz -o en-fr\n"
           "  headlight tokenizer train --kind wordpiece --lowercase a.txt b.txt -o bert\n"
           "  headlight tokenizer train --kind characters shakespeare.txt -o letters\n"
           "\n"
           "  DIR/tokenizer.json is in Hugging Face format. The same files and options give the same bytes.\n"
           "  Files may be plain or .gz; every cell of a .tsv is a separate text.\n"});
  const auto s = std::make_shared<TokenizerTrainSettings>();
  add_choice<TokenizerKind>(*command, "--kind", s->kind,
                            {{"bpe", TokenizerKind::bpe},
                             {"unigram", TokenizerKind::unigram},
                             {"wordpiece", TokenizerKind::word_piece},
                             {"characters", TokenizerKind::characters},
                             {"bytes", TokenizerKind::bytes}},
                            "Algorithm (default: bpe, byte-level)");
  add_count(*command, "--vocab", s->vocab, "Vocabulary size (default: 8192; characters: all)", {1, 1 << 24});
  command
      ->add_option_function<std::string>(
          "--special", [s](const std::string& text) { s->special = read_special(text); },
          "Special tokens, ids from 0 (default: <pad>,<s>,</s>,<unk>,<mask>; wordpiece: BERT's)")
      ->type_name("LIST");
  add_text(*command, "--around", s->around, "Special tokens around a text, such as '<s> $A </s>'")
      ->type_name("TEXT");
  add_switch(*command, "--lowercase", s->lowercase, "Convert text to lower case");
  add_switch(*command, "--elisions", s->elisions, "French, with bpe: split l'animal into l' and animal");
  add_count(*command, "--min-frequency", s->min_frequency, "Ignore rarer tokens (default: 2; characters: 1)",
            {1, Index{1} << 40});
  add_words(*command, "FILES", s->files, "Text: plain, .gz, .tsv or .tsv.gz")->required();
  add_path(*command, "-o,--out", s->out, "Folder for tokenizer.json; created if missing")
      ->required()
      ->type_name("DIR");
  add_switch(*command, "--force", s->force, "Replace a tokenizer.json (otherwise exit code 4)");
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
