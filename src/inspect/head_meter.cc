#include "inspect/head_meter.h"
#include "text/words.h"

#include <algorithm>

namespace headlight::inspect {
namespace {

constexpr Index kRows = 64;  // rows of weights recomputed at a time
constexpr Part kParts[] = {Part::encoder, Part::decoder, Part::cross};

}  // namespace

void for_each_row(const AttentionEvent& event, Index head, Range rows, const VisitRow& visit) {
  const Index queries = event.queries(0), keys = event.keys(0);
  std::vector<float> row(static_cast<std::size_t>(keys));
  for (Index first = rows.begin; first < rows.end; first += kRows) {
    const Range block{first, std::min(rows.end, first + kRows)};
    const Tensor weights = event.weights(0, head, block);
    for (Index i = block.begin; i < block.end; ++i) {
      std::span<const float> values(row);
      if (weights.dtype() == DType::f32) {
        values = {weights.as<float>() + (i - block.begin) * keys, static_cast<std::size_t>(keys)};
      } else {
        for (Index j = 0; j < keys; ++j)
          row[static_cast<std::size_t>(j)] = static_cast<float>(weights.at(i - block.begin, j));
      }
      visit({.query = i,
             .position = event.options.visible.position(i, queries, keys),
             .keys = event.options.visible.keys_for(i, queries, keys),
             .weights = values});
    }
  }
}

void for_each_row(const AttentionEvent& event, Index head, const VisitRow& visit) {
  for_each_row(event, head, {0, event.queries(0)}, visit);
}

PatternTokens pattern_tokens(const EncodedText& encoded, const LoadedModel& loaded) {
  PatternTokens tokens;
  for (const EncodedToken& token : encoded.tokens) {
    const bool special = token.added || (loaded.tokenizer && loaded.tokenizer->is_special(token.id));
    tokens.ids.push_back(token.id);
    tokens.is_delimiter.push_back(special || text::is_punctuation(token.label) ? 1 : 0);
  }
  return tokens;
}

ModelSums::ModelSums(const LoadedModel& loaded) {
  for (const Part part : kParts)
    if (loaded.has(part)) of(part).resize(static_cast<std::size_t>(loaded.layers(part) * loaded.heads(part)));
}

void ModelSums::add(const ModelSums& other) {
  for (std::size_t part = 0; part < parts_.size(); ++part)
    for (std::size_t i = 0; i < parts_[part].size(); ++i) parts_[part][i].add(other.parts_[part][i]);
}

Bytes ModelSums::bytes() const {
  Bytes all;
  for (const std::vector<HeadSums>& part : parts_) {
    const Bytes bytes = bytes_of(part);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

void ModelSums::set(std::span<const std::byte> bytes) {
  for (std::vector<HeadSums>& part : parts_) {
    const std::size_t size = part.size() * sizeof(HeadSums);
    part = values_of<HeadSums>(bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

HeadMeter::HeadMeter(const LoadedModel& loaded, const ModelInput& input, ModelSums& sums) : sums_(sums) {
  for (const Part part : kParts) {
    const bool runs = part == loaded.usual_part() || input.runs_decoder();
    if (!loaded.has(part) || !runs) continue;
    const Sides sides = sides_of(loaded, input, part);
    tokens_[static_cast<std::size_t>(part)] = {pattern_tokens(sides.queries, loaded),
                                               pattern_tokens(sides.keys, loaded)};
  }
}

void HeadMeter::on_attention(const AttentionEvent& event) {
  const SideTokens& tokens = tokens_[static_cast<std::size_t>(event.part)];
  const Index heads = event.q.dim(1);
  for (Index head = 0; head < heads; ++head) {
    HeadSums& sums = sums_.of(event.part)[static_cast<std::size_t>(event.layer * heads + head)];
    if (event.part != Part::cross) {
      for_each_row(event, head, [&](const PatternRow& row) { sums.add_self(row, tokens.keys); });
      continue;
    }
    PlaceCorrelation places;
    for_each_row(event, head,
                 [&](const PatternRow& row) { sums.add_cross(row, tokens.queries, tokens.keys, places); });
    sums.add_places(places);
  }
}

}  // namespace headlight::inspect
