#include "inspect/last_row.h"

#include "core/concat.h"

namespace headlight::inspect {

RowChoice choose_row(const LoadedModel& loaded, Part part, const std::optional<HeadPlace>& head) {
  if (!head) return {part, static_cast<int>(loaded.layers(part)) - 1, std::nullopt};
  return {part, head->layer, head->head};
}

std::string title_of(const RowChoice& choice, const LoadedModel& loaded) {
  return concat(name_of(choice.part), " layer ", choice.layer,
                choice.head ? concat(", head ", *choice.head)
                            : concat(", mean of ", loaded.heads(choice.part), " heads"));
}

void LastRow::on_attention(const AttentionEvent& event) {
  if (event.part != choice_.part || event.layer != choice_.layer) return;
  const Index queries = event.queries(0), keys = event.keys(0), heads = event.q.dim(1);
  std::vector<double> sum(static_cast<std::size_t>(keys), 0);
  const Index first = choice_.head.value_or(0), end = choice_.head ? first + 1 : heads;
  for (Index head = first; head < end; ++head) {
    const Tensor row = event.weights(0, head, {queries - 1, queries});
    for (Index j = 0; j < keys; ++j) sum[static_cast<std::size_t>(j)] += row.at(0, j);
  }
  weights_.clear();
  for (const double x : sum) weights_.push_back(static_cast<float>(x / static_cast<double>(end - first)));
}

}  // namespace headlight::inspect
