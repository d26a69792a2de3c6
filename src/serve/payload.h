// Runs as bytes for the page. Tokens and structure are JSON; weights are little-endian floats, NaN where a
// query cannot see a key. docs/guide/viewer.md has the formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/run.h"

namespace headlight::serve {

using session::StoredAttention;

// The readable text of a token; its name in the vocabulary if it has no text.
[[nodiscard]] std::string token_text(const Model& model, TokenId id);
// `argument`: the value of --model that opens the model, if known.
[[nodiscard]] std::string model_json(const Model& model, std::string_view argument = {});
[[nodiscard]] std::string run_json(const KeptRun& run);
[[nodiscard]] std::string text_json(const TokenizedText& text);
[[nodiscard]] std::string prediction_json(const Model& model, Index position, const Prediction& prediction);
// The predictions from each layer's stream at a position (logit lens), and the experts used there.
[[nodiscard]] std::string lens_json(const KeptRun& run, Index position,
                                    const std::vector<Prediction>& layers);
inline constexpr Index kGuesses = 12;  // tokens of a prediction

// Weights of all heads: [layers, heads, rows, columns].
[[nodiscard]] std::string all_weights(Context& ctx, const Run& run, Part part);
[[nodiscard]] std::size_t all_weights_count(const Run& run, Part part);
// One query in all heads: [layers, heads, columns].
[[nodiscard]] std::string row_weights(Context& ctx, const Run& run, Part part, Index query);
// Small maps of all heads, at most 64 × 64 each. Two 32-bit sizes, then bytes: 0 is "not visible", b is the weight
// ((b - 1) / 254)², rounded.
[[nodiscard]] std::string atlas(Context& ctx, const Run& run, Part part,
                                std::optional<Index> layer = std::nullopt);
// A part of one head's map, [rows / in_cell, columns / in_cell], rounded up. Each cell is the number with the largest
// magnitude of those pooled into it, so that no weight disappears.
struct MapWindow {
  Range rows, columns;
  Index in_cell = 1;
  MapOf of = MapOf::weights;
  [[nodiscard]] Index cells() const {
    return ((rows.size() + in_cell - 1) / in_cell) * ((columns.size() + in_cell - 1) / in_cell);
  }
};
[[nodiscard]] std::string map_window(Context& ctx, const Run& run, const Head& head, const MapWindow& window);
// A map computed from several heads: their mean, or attention rollout through all layers; [rows, columns].
[[nodiscard]] std::string derived_map(Context& ctx, const Run& run, Part part,
                                      const std::vector<HeadPlace>& heads);
// Everything about one head: a 32-bit length, JSON of that length, then floats: weights [rows, columns],
// q [rows, dim], k [columns, dim], v [columns, value_dim], z [rows, value_dim], lse [rows], bias [rows, columns].
// With a query, weights and bias have only that row: [1, columns].
[[nodiscard]] std::string head_numbers(Context& ctx, const Run& run, const Head& head,
                                       std::optional<Index> query = std::nullopt);

// The outputs of all heads before the output projection, [1, head, row, value_dim], computed again to the same bits.
[[nodiscard]] Tensor head_outputs(Context& ctx, const StoredAttention& attention);

// Appends little-endian bytes to an answer: one number; or JSON after its length, padded with blanks to a multiple of four.
void append_number(std::string& out, float x);
void append_json(std::string& out, std::string json);

}  // namespace headlight::serve
