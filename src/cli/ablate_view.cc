#include "cli/ablate_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/text.h"
#include "io/json.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kRowsInFull = 30;  // tokens whose divergence is listed one by one

// Always beside the numbers: what they are no proof of.
constexpr std::string_view kCaveat =
    "Without a head the others may make up for it, and a zeroed one puts the model where training never did: "
    "a small "
    "effect is no proof that a head does nothing, nor is a large weight proof that it matters.";

std::string quoted(const std::string& text) { return io::json_quoted(text); }

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
    const inspect::TokenEffect& t = view.effect.tokens[i];
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
                        kl[static_cast<std::size_t>(view.effect.row)], view.effect.mean_kl, kl.size()));
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

std::string change_text(const BeforeAfter& x, int digits) {
  const std::string error = x.error > 0 ? fmt::format(" ± {:.{}f}", x.error, digits) : "";
  return fmt::format("{:.{}f} before, {:.{}f} after ({:+.{}f}{})", x.before, digits, x.after, digits,
                     x.after - x.before, digits, error);
}

std::string pair_json(const BeforeAfter& x) {
  return fmt::format("{{\"before\": {:.6g}, \"after\": {:.6g}, \"standard_error\": {:.3g}, \"count\": {}}}",
                     x.before, x.after, x.error, x.count);
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
  if (view.has_loss || view.corpus_loss || view.bleu || !view.translation_before.empty()) page.line();
  if (view.has_loss)
    plain(concat("Loss of this text, nats per token: ",
                 change_text({view.effect.loss_before, view.effect.loss_after}, 4)));
  if (view.corpus_loss)
    plain(fmt::format("Loss over {} tokens, nats per token: {}", view.corpus_loss->count,
                      change_text(*view.corpus_loss, 4)));
  if (view.bleu)
    plain(fmt::format("BLEU over {} sentences: {}", view.bleu->count, change_text(*view.bleu, 2)));
  if (!view.translation_before.empty()) {
    plain(concat("Translation before: ", printable(view.translation_before)));
    plain(concat("Translation after: ", printable(view.translation_after)));
  }
  page.line();
  page.line(page.dim(draw::wrapped(kCaveat, style.width, 0)));
  return page.text();
}

std::string ablate_json(const AblateView& view) {
  std::string out =
      fmt::format("{{\n  \"model\": {},\n  \"change\": {},\n  \"row\": {},\n  \"about\": {},\n",
                  quoted(view.model), quoted(view.what), view.effect.row, quoted(view.row_words));
  out += "  \"tokens\": [";
  for (std::size_t i = 0; i < view.effect.tokens.size(); ++i) {
    const inspect::TokenEffect& t = view.effect.tokens[i];
    out += fmt::format(
        "{}\n    {{\"id\": {}, \"text\": {}, \"before\": {:.6g}, \"after\": {:.6g}, \"logit_before\": "
        "{:.6g}, "
        "\"logit_after\": {:.6g}, \"rank_before\": {}, \"rank_after\": {}}}",
        i == 0 ? "" : ",", t.token, quoted(view.token_labels[i]), t.before, t.after, t.logit_before,
        t.logit_after, t.rank_before, t.rank_after);
  }
  out += "\n  ],\n  \"kl\": [";
  for (std::size_t r = 0; r < view.effect.kl.size(); ++r)
    out += fmt::format("{}{{\"token\": {}, \"nats\": {:.6g}}}", r == 0 ? "" : ", ",
                       quoted(view.row_labels[r]), view.effect.kl[r]);
  out += fmt::format("],\n  \"mean_kl\": {:.6g}", view.effect.mean_kl);
  if (view.has_loss)
    out += fmt::format(",\n  \"loss\": {}", pair_json({view.effect.loss_before, view.effect.loss_after, 0,
                                                       static_cast<Index>(view.effect.kl.size())}));
  if (view.corpus_loss) out += fmt::format(",\n  \"corpus_loss\": {}", pair_json(*view.corpus_loss));
  if (view.bleu) out += fmt::format(",\n  \"bleu\": {}", pair_json(*view.bleu));
  if (!view.translation_before.empty())
    out += fmt::format(",\n  \"translation\": {{\"before\": {}, \"after\": {}}}",
                       quoted(view.translation_before), quoted(view.translation_after));
  return out + "\n}\n";
}

}  // namespace headlight::cli
