#include "cli/ablate/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/text.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kRowsInFull = 30;  // tokens whose divergence is listed

// Printed with the numbers: their limitations.
constexpr std::string_view kCaveat =
    "Other heads may compensate for a removed one, and zeroing moves the model outside its training "
    "distribution. A small effect does not prove that a head does nothing, and a large attention weight does "
    "not prove that it matters.";

void add_tokens(Page& page, const AblateView& view) {
  int width = 8;
  const auto label = [&](std::size_t token) { return escaped(view.token_labels[token], 40); };
  for (std::size_t i = 0; i < view.token_labels.size(); ++i)
    width = std::max(width, draw::display_width(label(i)));
  width = std::min(width, 24);
  page.line(concat("Before and after, for ", view.row_words, ":"));
  page.line(fmt::format("  {}  {:>8}  {:>8}  {:>8}  {:>8}  {:>9}", draw::left_aligned("token", width),
                        "before", "after", "change", "logit", "rank"));
  for (std::size_t i = 0; i < view.effect.tokens.size(); ++i) {
    const TokenEffect& t = view.effect.tokens[i];
    const std::string move = t.rank_before == t.rank_after
                                 ? fmt::format("{}", t.rank_after)
                                 : fmt::format("{} {} {}", t.rank_before, page.glyph("→", ">"), t.rank_after);
    page.line(fmt::format("  {}  {:8.4f}  {:8.4f}  {:+8.4f}  {:+8.2f}  {}",
                          draw::left_aligned(label(i), width), t.before, t.after, t.after - t.before,
                          t.logit_after - t.logit_before, draw::right_aligned(move, 9)));
  }
}

void add_divergence(Page& page, const AblateView& view) {
  const std::vector<double>& kl = view.effect.kl;
  page.line();
  page.line(fmt::format("KL divergence, nats: {:.4f} there, {:.4f} on average over {} tokens",
                        kl[static_cast<std::size_t>(view.effect.position)], view.effect.mean_kl, kl.size()));
  std::vector<std::size_t> rows(kl.size());
  std::iota(rows.begin(), rows.end(), 0);
  if (rows.size() > kRowsInFull) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return kl[a] > kl[b]; });
    rows.resize(kRowsInFull / 2);
    page.line(fmt::format("The {} tokens that it changes most:", rows.size()));
  }
  const double top = std::max(1e-9, *std::max_element(kl.begin(), kl.end()));
  int width = 4;
  const auto label = [&](std::size_t row) { return escaped(view.row_labels[row], 40); };
  for (const std::size_t r : rows) width = std::max(width, draw::display_width(label(r)));
  width = std::min(width, 24);
  for (const std::size_t r : rows)
    page.line(fmt::format("  {}  {:8.4f}  {}", draw::left_aligned(label(r), width), kl[r],
                          page.bar(kl[r] / top, 30)));
}

std::string change_text(const TaskEffect& x, int digits) {
  const std::string error = x.error > 0 ? fmt::format(" ± {:.{}f}", x.error, digits) : "";
  return fmt::format("{:.{}f} before, {:.{}f} after ({:+.{}f}{})", x.before, digits, x.after, digits,
                     x.after - x.before, digits, error);
}

void write(io::JsonWriter& w, const TaskEffect& x) {
  w.begin_object().field("before", io::significant(x.before, 6)).field("after", io::significant(x.after, 6));
  w.field("standard_error", io::significant(x.error, 3)).field("count", x.count).end_object();
}

}  // namespace

void add_heading(Page& page, const std::string& model, const std::string& what) {
  const std::string text = draw::wrapped(concat(model, ": ", what), page.style().width, 2);
  page.line(concat(page.bold(model), std::string_view(text).substr(model.size())));
}

std::string ablate_text(const AblateView& view, const PageStyle& style) {
  Page page(style);
  add_heading(page, view.model, view.what);
  page.line();
  add_tokens(page, view);
  add_divergence(page, view);
  const auto plain = [&](const std::string& text) { page.line(draw::wrapped(text, style.width, 2)); };
  const AblationEffect& effect = view.effect;
  if (effect.has_loss || effect.task_loss || effect.bleu || effect.translation_before) page.line();
  if (effect.has_loss)
    plain(concat("Loss of this text, nats per token: ",
                 change_text({effect.loss_before, effect.loss_after}, 4)));
  if (effect.task_loss)
    plain(fmt::format("Loss over {} tokens, nats per token: {}", effect.task_loss->count,
                      change_text(*effect.task_loss, 4)));
  if (effect.bleu)
    plain(fmt::format("BLEU over {} sentences: {}", effect.bleu->count, change_text(*effect.bleu, 2)));
  if (effect.translation_before) {
    plain(concat("Translation before: ", printable(*effect.translation_before)));
    plain(concat("Translation after: ", printable(*effect.translation_after)));
  }
  page.line();
  page.line(page.dim(draw::wrapped(kCaveat, style.width, 0)));
  return page.text();
}

std::string ablate_json(const AblateView& view) {
  const AblationEffect& effect = view.effect;
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", view.model).field("change", view.what);
  w.field("row", effect.position).field("about", view.row_words);
  w.key("tokens").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < effect.tokens.size(); ++i) {
    const TokenEffect& t = effect.tokens[i];
    w.begin_object().field("id", t.token).field("text", view.token_labels[i]);
    w.field("before", io::significant(t.before, 6)).field("after", io::significant(t.after, 6));
    w.field("logit_before", io::significant(t.logit_before, 6));
    w.field("logit_after", io::significant(t.logit_after, 6));
    w.field("rank_before", t.rank_before).field("rank_after", t.rank_after).end_object();
  }
  w.end_list().key("kl").begin_list();
  for (std::size_t r = 0; r < effect.kl.size(); ++r) {
    w.begin_object().field("token", view.row_labels[r]);
    w.field("nats", io::significant(effect.kl[r], 6)).end_object();
  }
  w.end_list().field("mean_kl", io::significant(effect.mean_kl, 6));
  if (effect.has_loss)
    write(w.key("loss"), {effect.loss_before, effect.loss_after, 0, static_cast<Index>(effect.kl.size())});
  if (effect.task_loss) write(w.key("corpus_loss"), *effect.task_loss);
  if (effect.bleu) write(w.key("bleu"), *effect.bleu);
  if (view.cut_sources) w.field("cut_sources", *view.cut_sources);
  if (effect.translation_before) {
    w.key("translation").begin_object().field("before", *effect.translation_before);
    w.field("after", *effect.translation_after).end_object();
  }
  return w.end_object().take_line();
}

}  // namespace headlight::cli
