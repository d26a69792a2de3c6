// Wrong numbers in tutorials. Headlight's numbers are computed here every time.
#include <fmt/format.h>

#include "draw/text.h"
#include "io/json_writer.h"
#include "lab/arithmetic.h"
#include "lab/experiment.h"
#include "lab/worked_example.h"

namespace headlight::lab {
namespace {

struct Erratum {
  std::string where, theirs, ours, arithmetic;
};

Erratum scaled_softmax() {
  const double scores[] = {25.3, 2.1, -18.7, 31.2}, printed[] = {0.21, 0.11, 0.01, 0.47};
  const std::vector<double> right = softmax(scores, 1 / 8.0);
  return {"tutorial 1, why scale: softmax of 25.3 2.1 -18.7 31.2, divided by √64",
          fmt::format("{} (sum {:.2f})", digits(printed, 2), sum_of(printed)),
          fmt::format("{} (sum {:.4f})", digits(right), sum_of(right)),
          "weights sum to 1; the printed ones do not. exp(3.9 - 3.9) = 1 is the largest of 1 + 0.4783 + "
          "0.0263 + 0.0020, and 1 / 1.5065 = 0.6638."};
}

Erratum score_table() {
  const double first[] = {0.8, 0.3, 0.1, 0.2}, second[] = {0.2, 0.9, 0.7, 0.1};
  return {"tutorial 1, step by step: softmax of the rows 0.8 0.3 0.1 0.2 and 0.2 0.9 0.7 0.1",
          "0.45 0.25 0.15 0.15 and 0.15 0.40 0.35 0.10",
          fmt::format("{} and {}; divided by √64: {} and {}", digits(softmax(first)), digits(softmax(second)),
                      digits(softmax(first, 1 / 8.0)), digits(softmax(second, 1 / 8.0))),
          "no scale gives the printed weights: scores 0.1 and 0.2 get the same weight in the first row, and "
          "softmax never makes different scores equal."};
}

Erratum shades() {
  return {
      "tutorial 1, weights and heat map of \"sat\"",
      "the line gives cat 0.35, sat 0.30, mat 0.20; the map shades sat highest; the legend names 3 shades",
      "in the line cat is highest and sat is above mat; the map uses 5 different shades",
      "0.35 > 0.30 > 0.20. Our maps print the bounds of every shade that they use."};
}

Erratum score_of_journey() {
  const Trace t = trace(journey(), {});
  return {"tutorial 4, weights: \"w = 0.8 for journey\"", "0.8",
          fmt::format("score {:.4f}, weight {:.4f}", t.heads[0].scores.at(1, 1), t.heads[0].weights.at(1, 1)),
          "0.55×0.55 + 0.87×0.87 + 0.66×0.66 = 1.4950. (0.8434 is the score of \"with\".)"};
}

Erratum mixture() {
  const Sentence s = journey();
  const Trace t = trace(s, {});
  const double mix[] = {0.6, 0.3, 0.1};
  std::vector<double> theirs(3), ours, weights;
  for (Index d = 0; d < 3; ++d) {
    for (Index j = 0; j < 3; ++j) theirs[static_cast<std::size_t>(d)] += mix[j] * s.x.at(j, d);
    ours.push_back(t.context.at(1, d));
    weights.push_back(t.heads[0].weights.at(1, d));
  }
  return {"tutorial 4, context: journey = 0.6 Your + 0.3 journey + 0.1 starts",
          fmt::format("weights 0.6 0.3 0.1 of Your, journey, starts: ({})", digits(theirs, 3)),
          fmt::format("weights {}: ({})", digits(weights), digits(ours)),
          "\"starts\" scores 1.4754 and \"Your\" 0.9544 with \"journey\": Your cannot get the most."};
}

std::vector<Erratum> errata() {
  return {
      scaled_softmax(),
      score_table(),
      shades(),
      score_of_journey(),
      mixture(),
      {"tutorial 1, table: compute O(n) for RNNs, O(n²) for attention", "O(n) and O(n²)",
       "O(n·d²) and O(n²·d) for each layer",
       "attention costs less while n < d: 100 tokens of width 512 need 100·512² = 26.2 million operations in "
       "an RNN and 100²·512 = 5.1 million in attention."},
      {"tutorial 2, combining heads: Wo compresses", "8 heads compressed into one",
       "8·64 = 512 numbers in, 512 out", "nothing is compressed at this size; Wo mixes the heads."},
      {"tutorial 2, queries of 64 numbers: smaller just for efficiency", "64 for efficiency", "64 = 512 / 8",
       "8 heads of 64 have the parameters of one head of 512: 8·512·64 = 512·512 = 262144."},
      {"tutorial 2, steps 1 to 5", "five steps", "six",
       "the sum of the weighted values is a separate step."}};
}

}  // namespace

Outcome run_errata(const LabOptions& options) {
  Outcome out;
  io::JsonWriter w;
  w.begin_list(io::JsonLayout::lines);
  int number = 0;
  for (const Erratum& e : errata()) {
    out.text += fmt::format("{}{}  {}\n", number == 0 ? "" : "\n", number + 1,
                            draw::wrapped(e.where, options.width - 2, 3));
    const auto part = [&](std::string_view label, std::string_view text) {
      out.text += fmt::format("   {:<8}{}\n", label, draw::wrapped(text, options.width - 2, 11));
    };
    part("theirs", e.theirs);
    part("ours", e.ours);
    part("because", e.arithmetic);
    w.begin_object().field("where", e.where).field("theirs", e.theirs);
    w.field("ours", e.ours).field("arithmetic", e.arithmetic).end_object();
    ++number;
  }
  out.text +=
      "\n"
      "All other numbers of the tutorials are correct: headlight lab seeds.\n";
  out.json = w.end_list().take_line();
  return out;
}

}  // namespace headlight::lab
