// Tokens of text files, kept on disk: a text is tokenized once, by all threads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "headlight/context.h"
#include "headlight/progress.h"
#include "headlight/tokenizer.h"
#include "train/document_stream.h"
#include "train/token_file.h"

namespace headlight::train {

// How texts become tokens.
struct TokenRules {
  const Tokenizer& tokenizer;
  std::string tokenizer_hash;
  DocumentRules documents = {};
  // Follows every document of files that have a separator or are .jsonl. Throws Error{input} if it is needed and missing.
  std::optional<TokenId> end = std::nullopt;
  std::string task = {};  // for that message
};

class TokenCache {
 public:
  TokenCache(Context& ctx, std::string folder, Progress progress = {});

  // The tokens of a text file. They are read from the folder if tokenizer, rules, and the file's size and modification time
  // are those of an earlier call; else they are made and kept there, the same for any number of threads. `made`, when given,
  // says which it was. Throws Cancelled on request and leaves no file then.
  [[nodiscard]] std::shared_ptr<const TokenFile> tokens_of(const std::string& path, const TokenRules& rules,
                                                           bool* made = nullptr) const;

 private:
  void write(const std::string& to, const std::string& path, const TokenRules& rules) const;

  Context& ctx_;
  std::string folder_;
  Progress progress_;
};

}  // namespace headlight::train
