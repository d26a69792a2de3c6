// Training data from files, plain or compressed, checked before training starts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/checkpoint.h"
#include "train/recipe.h"

namespace headlight::train {

// Two words of a source sentence, counted from 0: the first should attend to the second.
struct WordLink {
  Index query = 0, key = 0;
};

struct PairText {
  std::vector<std::pair<std::string, std::string>> train, valid;
  std::vector<WordLink> links;  // of the last pairs of `train`, one each
};

struct CorpusText {
  std::vector<std::string> train, valid;  // documents; one per file without a separator
};

// The contents of files, and their state when they were read. An unusable file is Error{input} with its
// name: missing, a folder, empty, not UTF-8.
class DataReader {
 public:
  [[nodiscard]] CorpusText read_texts(const DataRecipe& recipe);
  [[nodiscard]] PairText read_pairs(const DataRecipe& recipe);
  // One file of pairs separated by a tab, or of .jsonl; further columns are ignored.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> read_pairs(const std::string& path);
  [[nodiscard]] const std::vector<DataFile>& files() const noexcept { return files_; }

 private:
  [[nodiscard]] std::string read(const std::string& path);
  [[nodiscard]] std::vector<std::string> documents(const std::vector<std::string>& paths,
                                                   const DataRecipe& rules);
  void read_columns(const std::string& path, const DataRecipe& recipe,
                    std::vector<std::pair<std::string, std::string>>& pairs);
  void read_linked(const std::string& path, PairText& text);
  void read_line_by_line(const std::string& source, const std::string& target, bool swap,
                         std::vector<std::pair<std::string, std::string>>& pairs);

  std::vector<DataFile> files_;
};

}  // namespace headlight::train
