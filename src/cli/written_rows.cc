#include "cli/written_rows.h"

#include "cli/numbers.h"
#include "cli/show_settings.h"
#include "core/concat.h"

namespace headlight::cli {

std::vector<inspect::HeadPlace> read_heads(const std::string& text) {
  constexpr Index most = 100000;
  std::vector<inspect::HeadPlace> heads;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const std::size_t point = part.find('.');
    const auto layer = parse_integer(part.substr(0, point));
    const auto head = point == std::string_view::npos ? std::nullopt : parse_integer(part.substr(point + 1));
    if (!layer || !head || *layer < 0 || *head < 0 || *layer > most || *head > most)
      refuse_value("--head", text, "LAYER.HEAD, both counted from 0, several with commas: 2.5 or 2.5,3.0");
    heads.push_back({static_cast<int>(*layer), static_cast<int>(*head)});
    begin = end + 1;
  }
  return heads;
}

void add_rows(CLI::App& command, RowSettings& settings) {
  add_switch(command, "--show", settings.show, "For each new token a line: what it looked at");
  const auto read = [&settings](const std::string& text) {
    const std::vector<inspect::HeadPlace> heads = read_heads(text);
    if (heads.size() > 1) refuse_value("--head", text, "one head: 2.5");
    settings.head = heads[0];
  };
  command
      .add_option_function<std::string>(
          "--head", read, "With --show: this head (default: the mean of the last layer's heads)")
      ->type_name("L.H");
}

RowPrinter::RowPrinter(const inspect::Subject& subject, const inspect::RowChoice& choice, int bars)
    : title_(inspect::title_of(choice, subject)),
      exact_(choice.head.has_value()),
      bars_(bars),
      style_(terminal_style(ShowSettings{})) {}

std::string RowPrinter::heading() const {
  return concat(title_, "  ", name_of(exact_ ? draw::Origin::exact : draw::Origin::derived),
                style_.look == draw::Look::table ? "\n" : "; bars: all tokens it can see, in order\n");
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
