#include "cli/show/page.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "serve/offline.h"
#include "serve/view_address.h"

namespace headlight::cli {
namespace {

std::string first_text(const Shown& shown) {
  const std::string& text = shown.run.source().text;
  const std::string& second = shown.settings.input.second;
  return second.empty() ? text : text.substr(0, text.size() - second.size() - inspect::kBetweenTexts.size());
}

// The head of the view's first map; a pinned word is selected again.
serve::ViewPlace place_of(const session::View& view, const Shown& shown) {
  const ShowSettings& s = shown.settings;
  serve::ViewPlace place;
  place.text = first_text(shown);
  place.second = s.input.second;
  place.target = s.input.target;
  if (!view.numbers.empty()) {
    place.part = view.numbers.front().part;
    place.layer = view.numbers.front().layer;
    place.head = view.numbers.front().head;
  }
  if (!s.view.query.empty()) place.queries = view.query.tokens;
  return place;
}

// The view and its colours, in the format of the page's links (web/src/address.ts).
std::string looks_of(const ShowSettings& s) {
  std::string looks;
  if (s.view.of != MapOf::weights) looks += s.view.of == MapOf::scores ? "&d=scores" : "&d=values";
  if (s.look.transfer != draw::Transfer::square_root) looks += concat("&s=", draw::name_of(s.look.transfer));
  if (s.look.palette != draw::Palette::cividis) looks += concat("&c=", draw::name_of(s.look.palette));
  if (s.look.auto_range) looks += "&r=auto";
  std::string flags;
  const auto add = [&](bool on, std::string_view name) {
    if (on) flags += concat(flags.empty() ? "" : ",", name);
  };
  add(s.view.mute_special, "special");
  add(s.view.mute_first && !s.view.mute_special, "first");
  add(s.view.renormalize, "whole");
  add(s.view.words, "words");
  return flags.empty() ? looks : looks + "&f=" + flags;
}

}  // namespace

void write_page(io::Outputs& outputs, Context& ctx, const session::View& view, const Shown& shown) {
  const ShowSettings& s = shown.settings;
  const serve::ViewPlace place = place_of(view, shown);
  serve::RunRequest request;
  request.model = shown.run.model().info().name;
  request.text = first_text(shown);
  request.second = s.input.second;
  request.target = s.input.target;
  const auto run = serve::make_run(ctx, shown.run.model(), request, [] { return false; });
  serve::OfflineOptions options;
  options.at = serve::view_address(
                   {.part = place.part, .layer = place.layer, .head = place.head, .queries = place.queries}) +
               looks_of(s);
  options.part = place.part.value_or(shown.run.model().state().usual_part());
  options.layer = std::max(0, place.layer);
  options.model = s.input.model;
  options.most_bytes = static_cast<std::size_t>(s.max_megabytes * 1e6);
  const std::string page = serve::offline_page(ctx, *run, options);
  outputs.write(s.html, std::as_bytes(std::span(page)));
  print_error(
      fmt::format("note: wrote {}, {:.2f} MB\n", escaped(s.html), static_cast<double>(page.size()) / 1e6));
}

std::string serve_command(const session::View& view, const Shown& shown) {
  return concat("headlight serve --model ", serve::shell_quoted(shown.settings.input.model), " --at ",
                serve::shell_quoted(serve::view_address(place_of(view, shown)) + looks_of(shown.settings)));
}

}  // namespace headlight::cli
