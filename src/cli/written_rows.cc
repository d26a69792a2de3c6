#include "cli/written_rows.h"

#include "cli/map_look.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "core/concat.h"
#include "headlight/error.h"
#include "session/state.h"

namespace headlight::cli {

void add_rows(CLI::App& command, RowSettings& settings) {
  add_switch(command, "--show", settings.show, "Print the attention of each new token (last layer)");
  add_heads(command, settings.heads);
}

inspect::RowChoice chosen_row(const Model& model, Part part, const RowSettings& settings) {
  const inspect::LoadedModel& loaded = model.state().loaded;
  if (settings.heads.empty()) return inspect::choose_row(loaded, part, std::nullopt);
  if (settings.heads.size() > 1)
    throw Error(ErrorKind::usage, "input.head", "--show uses one head; give one, such as --head 2.5");
  check_head(model, part, settings.heads[0]);
  return inspect::choose_row(loaded, part, settings.heads[0]);
}

RowPrinter::RowPrinter(const Model& model, const inspect::RowChoice& choice, int bars)
    : title_(inspect::title_of(choice, model.state().loaded)),
      exact_(choice.head.has_value()),
      bars_(bars),
      style_(terminal_style(MapLook{})) {}

std::string RowPrinter::heading() const {
  return concat(
      title_, "  ", name_of(exact_ ? draw::Origin::exact : draw::Origin::derived),
      style_.look == draw::Look::table ? "\n" : "; bars: weights of all visible tokens, in order\n");
}

std::string RowPrinter::line(const std::string& query, const std::vector<std::string>& keys,
                             const std::vector<float>& weights) const {
  draw::WeightMap map;
  map.queries = {query};
  map.keys = keys;
  map.weights = weights;
  return draw::row_text(map, style_, {.bars = bars_});
}

}  // namespace headlight::cli
