// Options of `headlight heads`, and its four modes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/map_look.h"
#include "cli/model_input.h"
#include "inspect/head_labels.h"

namespace headlight::cli {

struct HeadsSettings {
  InputOptions input;
  std::string corpus;
  std::optional<Part> part;
  std::vector<HeadPlace> heads;
  std::optional<inspect::Label> find;
  std::string link, pairs;
  std::vector<HeadPlace> like;
  std::string treebank, parallel, coref;
  Index limit = 0;  // texts, sentences or items; 0: all
  Index top = 0;    // rows of a ranking
  MapLook look;
  FigureOptions figures;
  JsonTarget json;
  std::string npy;
  Index threads = 0;
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

// The page on standard output unless JSON has it.
void print_page(const Page& page, const HeadsSettings& settings);
// A number for each head as an array [layer, head], with the run's tokens beside it.
void write_head_array(const HeadsSettings& settings, const Run& run, Part part, const std::string& name,
                      const std::vector<std::pair<HeadPlace, double>>& numbers);

}  // namespace headlight::cli
