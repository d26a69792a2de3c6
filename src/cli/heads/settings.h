// What `headlight heads` was asked for, and the four things it can do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/page.h"
#include "cli/show/settings.h"
#include "inspect/head_labels.h"

namespace headlight::cli {

struct HeadsSettings : ShowSettings {
  std::string corpus;
  std::optional<inspect::Label> find;
  std::string link, pairs;
  std::vector<inspect::HeadPlace> like;
  std::string treebank, parallel, coref;
  Index limit = 0;  // texts, sentences or items; 0: all
};

// Labels of all heads on a text or a corpus, and on the battery.
void run_head_labels(const HeadsSettings& settings);
// --link, --pairs, --like.
void run_head_link(const HeadsSettings& settings);
void run_head_pairs(const HeadsSettings& settings);
void run_similar_heads(const HeadsSettings& settings);
// --treebank, --treebank with --parallel, --coref.
void run_treebank(const HeadsSettings& settings);
void run_parallel(const HeadsSettings& settings);
void run_coref(const HeadsSettings& settings);

// The part that was asked for, or the first that the text meets.
[[nodiscard]] Part part_of(const HeadsSettings& settings, const inspect::Subject& subject);
[[nodiscard]] std::string place_text(const inspect::HeadPlace& place);  // "2.5"
[[nodiscard]] Page heads_page(const HeadsSettings& settings);
// The page on standard output unless JSON has it.
void print_page(const Page& page, const HeadsSettings& settings);

}  // namespace headlight::cli
