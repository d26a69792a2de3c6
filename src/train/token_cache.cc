#include "train/token_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "core/run_tasks.h"
#include "headlight/error.h"
#include "io/hash.h"

namespace headlight::train {
namespace {

// Everything that determines the tokens. Texts count by size and modification time, so that they need not be read.
std::string cache_name(const std::string& path, const TokenRules& rules) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) io::fail_file(path, "open", errno);
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
  io::Hash64 hash;
  for (const std::string& part :
       {std::string(kTokenFormat), whole.string(), rules.tokenizer_hash, rules.documents.separator,
        rules.documents.field, std::to_string(rules.documents.piece), std::to_string(rules.end.value_or(-1)),
        std::to_string(status.st_size), std::to_string(status.st_mtim.tv_sec),
        std::to_string(status.st_mtim.tv_nsec)}) {
    hash.update(part);
    hash.update(std::string_view("\0", 1));
  }
  return hash.text() + ".tokens";
}

// The next documents, as many as all threads encode at once.
struct DocumentBatch {
  std::vector<DocumentStream::Document> documents;
  std::vector<std::vector<TokenId>> ids;

  // False: there are none left.
  bool fill(DocumentStream& stream, std::size_t bytes) {
    documents.clear();
    DocumentStream::Document document;
    for (std::size_t taken = 0; taken < bytes && stream.next(document);) {
      taken += document.text.size();
      documents.push_back(std::move(document));
    }
    ids.resize(documents.size());
    return !documents.empty();
  }
};

}  // namespace

TokenCache::TokenCache(Context& ctx, std::string folder, Progress progress)
    : ctx_(ctx), folder_(std::move(folder)), progress_(std::move(progress)) {}

void TokenCache::write(const std::string& to, const std::string& path, const TokenRules& rules) const {
  const bool ends = is_jsonl(path) || !rules.documents.separator.empty();
  if (ends && !rules.end)
    throw Error(ErrorKind::input, "data.special",
                concat("tokenizer: has no end-of-text token (<|endoftext|>, </s>), which the task \"",
                       rules.task, "\" needs"));
  constexpr int kMostWorkers = 8;  // encoding takes about 30 times the memory of the text
  const int workers = std::min(ctx_.threads(), kMostWorkers);
  const std::string doing =
      concat("tokenizing ", escaped(std::filesystem::path(path).filename().string(), 40));
  TokenWriter writer(to, rules.tokenizer.size());
  DocumentStream stream(path, rules.documents);
  DocumentBatch batch;
  while (batch.fill(stream, rules.documents.piece * static_cast<std::size_t>(workers))) {
    progress_.check();
    run_tasks(ctx_, static_cast<std::int64_t>(batch.documents.size()), workers, [&](int, std::int64_t i) {
      const auto number = static_cast<std::size_t>(i);
      batch.ids[number] = rules.tokenizer.encode(batch.documents[number].text, SpecialTokens::leave_out);
    });
    for (std::size_t i = 0; i < batch.documents.size(); ++i) {
      writer.add(batch.ids[i]);
      if (!batch.documents[i].whole) continue;
      if (ends) writer.add(std::span(&*rules.end, 1));
      writer.end_document();
    }
    progress_.tell(doing, stream.share_read(), 1);
  }
  writer.finish(stream.facts());
}

std::shared_ptr<const TokenFile> TokenCache::tokens_of(const std::string& path, const TokenRules& rules,
                                                       bool* made) const {
  const std::string name = concat(folder_, "/", cache_name(path, rules));
  std::error_code problem;
  const bool there = std::filesystem::exists(name, problem);
  if (made != nullptr) *made = !there;
  if (!there) {
    std::filesystem::create_directories(folder_, problem);
    if (problem) io::fail_file(folder_, "write", problem.value());
    write(name, path, rules);
  }
  return std::make_shared<const TokenFile>(name);
}

}  // namespace headlight::train
