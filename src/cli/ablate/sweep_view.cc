// Tables, JSON and maps of all heads: results of a sweep, and direct effects on a logit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/ablate/view.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/text.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

std::string place_text(Part part, const HeadPlace& head) {
  return fmt::format("{} {}.{}", name_of(part), head.layer, head.head);
}

// The column by which a sweep is sorted and drawn.
double value_of(const SweptHead& head, SweepBy by) {
  switch (by) {
    case SweepBy::kl: return head.mean_kl;
    case SweepBy::token: return head.log_probability;
    case SweepBy::loss: return head.task_loss.value_or(head.loss);
    case SweepBy::direct: return head.direct.value_or(0);
  }
  return 0;
}

std::string quantity_of(const SweepView& view) {
  switch (view.by) {
    case SweepBy::kl: return "KL divergence, nats";
    case SweepBy::token: return concat("log p(", escaped(view.token_label, 40), "), change");
    case SweepBy::loss: return "loss, change in nats";
    case SweepBy::direct: return concat("direct effect on the logit of ", escaped(view.token_label, 40));
  }
  return "";
}

std::string optional_text(const std::optional<double>& x) {
  return x ? fmt::format("{:+9.4f}", *x) : "        –";
}
std::optional<io::Rounded> rounded(const std::optional<double>& x) {
  return x ? std::optional(io::significant(*x, 6)) : std::nullopt;
}

// A map of layers × heads for each part, in the order of the parts.
class MapMaker {
 public:
  MapMaker(std::string quantity, std::string derivation, bool is_signed)
      : quantity_(std::move(quantity)), derivation_(std::move(derivation)), is_signed_(is_signed) {}

  void add(Part part, const HeadPlace& head, double value) {
    if (maps_.empty() || part != part_) {
      part_ = part;
      draw::WeightMap map;
      map.title = map.short_name = name_of(part);
      map.origin = draw::Origin::derived;
      map.derivation = derivation_;
      map.quantity = quantity_;
      map.is_signed = is_signed_;
      map.row_axis = "layer";
      map.column_axis = "head";
      maps_.push_back(std::move(map));
    }
    draw::WeightMap& map = maps_.back();
    if (head.head == 0) map.queries.push_back(fmt::format("{}", head.layer));
    if (head.layer == 0) map.keys.push_back(fmt::format("{}", head.head));
    map.weights.push_back(static_cast<float>(value));
  }
  [[nodiscard]] std::vector<draw::WeightMap> take() { return std::move(maps_); }

 private:
  std::string quantity_, derivation_;
  bool is_signed_;
  Part part_ = Part::encoder;
  std::vector<draw::WeightMap> maps_;
};

}  // namespace

std::string sweep_text(const SweepView& view, const PageStyle& style, Index top) {
  Page page(style);
  add_heading(page, view.model, view.what);
  page.line(draw::wrapped(fmt::format("Tracked: \"{}\" in {}, probability {:.4f} without a change.",
                                      escaped(view.token_label, 40), view.row_words, view.result.probability),
                          style.width, 2));
  page.line();
  std::vector<const SweptHead*> order;
  for (const SweptHead& head : view.result.heads) order.push_back(&head);
  std::stable_sort(order.begin(), order.end(), [&](const SweptHead* a, const SweptHead* b) {
    return std::abs(value_of(*a, view.by)) > std::abs(value_of(*b, view.by));
  });
  const std::size_t shown = std::min(order.size(), static_cast<std::size_t>(top));
  const bool task = view.result.task_loss.has_value();
  page.line(fmt::format("  {:<14}{:>9}{:>9}{:>10}{:>10}{:>10}{}", "head", "mean KL", "KL there", "log p",
                        "loss", "direct", task ? "  text loss" : ""));
  const double most = std::max(1e-9, std::abs(order.empty() ? 1 : value_of(*order[0], view.by)));
  for (std::size_t i = 0; i < shown; ++i) {
    const SweptHead& h = *order[i];
    page.line(fmt::format("  {:<14}{:9.4f}{:9.4f} {:+9.4f} {:+9.4f} {}{}  {}", place_text(h.part, h.head),
                          h.mean_kl, h.kl, h.log_probability, h.loss, optional_text(h.direct),
                          task ? concat("  ", optional_text(h.task_loss)) : "",
                          page.bar(std::abs(value_of(h, view.by)) / most, task ? 10 : 16)));
  }
  if (shown < order.size())
    page.line(
        fmt::format("  … and {} more with less; --top {} lists all", order.size() - shown, order.size()));
  page.line();
  page.line(page.dim(draw::wrapped(
      concat(
          "mean KL: over all predictions of the text. KL there, log p: at the tracked token. loss: change "
          "for the tokens of the text. direct: direct effect of the head on the token's logit, with frozen "
          "norm statistics. A head can also act through later layers; then removal and direct effect differ.",
          task ? fmt::format(" text loss: over {} tokens, {:.4f} without a change.", view.result.task_tokens,
                             *view.result.task_loss)
               : ""),
      style.width, 0)));
  return page.text();
}

std::string sweep_json(const SweepView& view) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", view.model).field("change", view.what);
  w.field("about", view.row_words).field("token", view.token_label);
  w.field("probability", io::significant(view.result.probability, 6));
  if (view.result.task_loss) {
    w.key("text_loss").begin_object().field("before", io::significant(*view.result.task_loss, 6));
    w.field("tokens", view.result.task_tokens).end_object();
  }
  w.key("heads").begin_list(io::JsonLayout::lines);
  for (const SweptHead& h : view.result.heads) {
    w.begin_object().field("part", name_of(h.part)).field("layer", h.head.layer).field("head", h.head.head);
    w.field("mean_kl", io::significant(h.mean_kl, 6)).field("kl", io::significant(h.kl, 6));
    w.field("log_probability", io::significant(h.log_probability, 6));
    w.field("loss", io::significant(h.loss, 6)).field("direct", rounded(h.direct));
    w.field("text_loss", rounded(h.task_loss)).end_object();
  }
  return w.end_list().end_object().take_line();
}

std::vector<draw::WeightMap> sweep_maps(const SweepView& view) {
  const std::string derivation = view.by == SweepBy::direct ? "direct share" : "one at a time";
  MapMaker maker(quantity_of(view), derivation, view.by != SweepBy::kl);
  for (const SweptHead& h : view.result.heads) maker.add(h.part, h.head, value_of(h, view.by));
  return maker.take();
}

std::string attribution_text(const AttributionView& view, const PageStyle& style, Index top) {
  const Attribution& a = view.attribution;
  Page page(style);
  add_heading(page, view.model,
              concat("direct effects on \"", escaped(view.token_label, 40), "\" in ", view.row_words));
  page.line();
  std::vector<HeadContribution> order = a.heads;
  std::stable_sort(order.begin(), order.end(), [](const HeadContribution& x, const HeadContribution& y) {
    return std::abs(x.logit) > std::abs(y.logit);
  });
  const auto shown = std::min(order.size(), static_cast<std::size_t>(top));
  double rest = 0, most = 1e-9;
  for (std::size_t i = shown; i < order.size(); ++i) rest += order[i].logit;
  if (!order.empty()) most = std::max(most, std::abs(order[0].logit));
  const auto row = [&](const std::string& name, double logit) {
    page.line(fmt::format("  {:<26}{:+9.4f}", name, logit));
  };
  for (std::size_t i = 0; i < shown; ++i)
    page.line(fmt::format("  {:<26}{:+9.4f}  {}", place_text(order[i].part, order[i].head), order[i].logit,
                          page.bar(std::abs(order[i].logit) / most, 24)));
  if (shown < order.size()) row(fmt::format("{} other heads", order.size() - shown), rest);
  row("feed-forward layers", a.feed_forward);
  row("embedding", a.embedding);
  row("biases", a.biases);
  row("sum", a.sum());
  row("the model's logit", a.logit);
  page.line();
  page.line(page.dim(draw::wrapped(
      "Each number is the contribution of a head's output to the logit along the residual stream, through "
      "the output projection, the following norms and the unembedding. Norms keep the statistics of this "
      "run, so the contributions add up. This is an approximation: without the head the norms would divide "
      "by other numbers. Effects through later layers count for those layers.",
      style.width, 0)));
  return page.text();
}

std::string attribution_json(const AttributionView& view) {
  const Attribution& a = view.attribution;
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", view.model).field("about", view.row_words);
  w.field("row", a.row).field("token", view.token_label).field("id", a.token);
  w.field("logit", io::significant(a.logit, 6)).field("sum", io::significant(a.sum(), 6));
  w.field("embedding", io::significant(a.embedding, 6));
  w.field("feed_forward", io::significant(a.feed_forward, 6)).field("biases", io::significant(a.biases, 6));
  w.key("heads").begin_list(io::JsonLayout::lines);
  for (const HeadContribution& h : a.heads) {
    w.begin_object().field("part", name_of(h.part)).field("layer", h.head.layer).field("head", h.head.head);
    w.field("logit", io::significant(h.logit, 6)).end_object();
  }
  return w.end_list().end_object().take_line();
}

std::vector<draw::WeightMap> attribution_maps(const AttributionView& view) {
  std::vector<HeadContribution> heads = view.attribution.heads;
  // Blocks alternate self- and cross-attention; maps list one after the other.
  std::stable_sort(heads.begin(), heads.end(),
                   [](const HeadContribution& a, const HeadContribution& b) { return a.part < b.part; });
  MapMaker maker(concat("direct effect on the logit of ", escaped(view.token_label, 40)), "direct share",
                 true);
  for (const HeadContribution& head : heads) maker.add(head.part, head.head, head.logit);
  return maker.take();
}

}  // namespace headlight::cli
