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

// Rules for encoding texts.
struct TokenRules {
  const Tokenizer& tokenizer;
  std::string tokenizer_hash;
  DocumentRules documents = {};
  // Added after every document of files that have a separator or are .jsonl. Throws Error{input} if it is needed and missing.
  std::optional<TokenId> end = std::nullopt;
  std::string task = {};  // for that message
};

class TokenCache {
 public:
  TokenCache(Context& ctx, std::string folder, Progress progress = {});

  // The tokens of a text file. They are read from the folder if the tokenizer, rules, and the file's size and modification
  // time are unchanged since an earlier call; otherwise they are computed and stored there, the same for any number of
  // threads. Sets `made`, if not null, accordingly. Throws Cancelled on request, and then leaves no file.
  [[nodiscard]] std::shared_ptr<const TokenFile> tokens_of(const std::string& path, const TokenRules& rules,
                                                           bool* made = nullptr) const;

 private:
  void write(const std::string& to, const std::string& path, const TokenRules& rules) const;

  Context& ctx_;
  std::string folder_;
  Progress progress_;
};

}  // namespace headlight::train
