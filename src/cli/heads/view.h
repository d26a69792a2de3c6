// Labels of heads as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/heads/settings.h"
#include "headlight/look.h"

namespace headlight::cli {

struct HeadsView {
  std::string model, what;  // the texts that were read: "this text", "500 texts of stories.txt"
  bool one_part = true;     // else heads are named with their part
  std::vector<inspect::LabelledHead> heads;
  std::vector<std::vector<SimilarHead>> similar;  // the most similar heads of each head, if requested
  std::size_t searched = 0;                       // heads in all, before --find and --head
};

// A row for each head and how many there are of each label.
void add_label_table(Page& page, const HeadsView& view);
// One head: every score with the threshold of its label, on the text and on the battery.
void add_head_details(Page& page, const HeadsView& view);
[[nodiscard]] std::string labels_json(const HeadsView& view);

// "encoder 2.5" when several parts are shown.
[[nodiscard]] std::string head_name(const inspect::LabelledHead& head, bool one_part);

}  // namespace headlight::cli
