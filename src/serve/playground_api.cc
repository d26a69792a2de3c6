#include "serve/playground_api.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/concat.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "playground/presets.h"
#include "playground/toy_filmstrip.h"
#include "serve/playground_json.h"
#include "serve/requests.h"

namespace headlight::serve {
namespace {

using playground::ToySettings;
using playground::ToyState;

constexpr std::chrono::milliseconds kWait{2000};  // for a new frame
constexpr std::size_t kLongestProbe = 400, kLongestName = 40;
constexpr std::int64_t kMostSteps = 1000;  // of one request

template <class T>
Answer one_field(std::string_view name, T value) {
  io::JsonWriter w;
  w.begin_object().field(name, value).end_object();
  return {.body = w.take() + "\n"};
}

Answer done() { return one_field("ok", true); }

// {"task": "copy", "layers": 2, "mask": false, …}; missing settings keep their defaults.
ToySettings parse_settings(std::string_view body) {
  std::vector<std::string_view> names = {"task"};
  for (const playground::ToyRange& range : playground::ranges()) names.push_back(range.name);
  const io::Json json = parse_object(body, names);
  ToySettings settings;
  for (std::size_t i = 0; i < json.keys().size(); ++i) {
    const io::Json& value = json.items()[i];
    std::string text;
    if (value.is(io::Json::Kind::text)) text = value.text();
    else if (value.is(io::Json::Kind::boolean)) text = value.boolean() ? "on" : "off";
    else if (value.is(io::Json::Kind::integer)) text = concat(value.integer());
    else if (value.is(io::Json::Kind::real)) text = concat(value.real());
    else throw BadRequest{"a setting is neither a number, a text nor a switch"};
    playground::set(settings, json.keys()[i], text);
  }
  return settings;
}

std::vector<HeadPlace> removed_heads(std::string_view body) {
  constexpr std::array<std::string_view, 1> fields = {"heads"};
  const io::Json json = parse_object(body, fields);
  const io::Json* list = json.find("heads");
  if (list == nullptr || !list->is(io::Json::Kind::list) || list->items().size() > 64)
    throw BadRequest{"heads is not a list of at most 64 heads"};
  std::vector<HeadPlace> heads;
  for (const io::Json& item : list->items()) {
    const auto parts = item.items();
    const auto is_small = [](const io::Json& x) {
      return x.is(io::Json::Kind::integer) && x.integer() >= 0 && x.integer() < 64;
    };
    if (parts.size() != 2 || !is_small(parts[0]) || !is_small(parts[1]))
      throw BadRequest{"a head is not [layer, head]"};
    heads.push_back({static_cast<int>(parts[0].integer()), static_cast<int>(parts[1].integer())});
  }
  return heads;
}

ToyState parse_state(std::string_view name) {
  for (const ToyState state : {ToyState::running, ToyState::paused, ToyState::finished, ToyState::stopped})
    if (playground::name_of(state) == name) return state;
  return ToyState::failed;
}

}  // namespace

Answer PlaygroundApi::answer(const HttpRequest& http, std::span<const std::string_view> path) {
  const bool posts = http.method == "POST";
  if (path.empty()) return posts ? start(http) : Answer{.body = playground_json(session_.runs())};
  const auto id = parse_count(path[0]);
  if (!id || path.size() != 2) return failure(404);
  const int run = static_cast<int>(*id);
  if (path[1] == "frames") return posts ? failure(405) : frames(http, run);
  if (path[1] == "strip") return posts ? failure(405) : filmstrip(http, run);
  if (!posts) return failure(405);
  if (path[1] == "ablate") return ablate(http, run);
  if (path[1] == "save") return save(http, run);
  return command(http, run, path[1]);
}

Answer PlaygroundApi::start(const HttpRequest& http) {
  return one_field("id", session_.start(parse_settings(http.body)));
}

Answer PlaygroundApi::frames(const HttpRequest& http, int id) {
  const Fields fields(http.query);
  const auto after = static_cast<std::size_t>(fields.integer("after"));
  const playground::ToyRecord record =
      session_.frames(id, after, parse_state(fields.text("state", "")), kWait, http.left);
  return {.body = frames_json(record, after)};
}

Answer PlaygroundApi::command(const HttpRequest& http, int id, std::string_view what) {
  constexpr std::array<std::string_view, 2> fields = {"steps", "text"};
  const io::Json json = parse_object(http.body, fields);
  if (what == "pause") session_.pause(id);
  else if (what == "resume") session_.resume(id);
  else if (what == "stop") session_.stop(id);
  else if (what == "step") {
    const Index steps = integer_field(json, "steps");
    if (steps < 1 || steps > kMostSteps) throw BadRequest{"steps is not a number from 1 to 1000"};
    session_.step(id, steps);
  } else if (what == "probe") {
    const std::string text = json.text_or("text", "");
    if (text.size() > kLongestProbe) throw BadRequest{"the probe is too long"};
    session_.set_probe(id, text);
  } else {
    return failure(404);
  }
  return done();
}

Answer PlaygroundApi::ablate(const HttpRequest& http, int id) {
  return {.body = toy_ablation_json(session_.without(id, removed_heads(http.body)))};
}

// A plain name: it becomes a folder here and a model in the list of the page.
Answer PlaygroundApi::save(const HttpRequest& http, int id) {
  constexpr std::array<std::string_view, 1> fields = {"name"};
  const std::string name = text_field(parse_object(http.body, fields), "name");
  const bool plain = !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
                     name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (!plain) throw BadRequest{"a name has up to 40 small letters, digits and hyphens"};
  const std::string folder = concat(options_.folder, "/", name);
  std::error_code problem;
  std::filesystem::create_directories(options_.folder, problem);  // save() reports the error
  session_.save(id, options_.folder, name);
  if (options_.saved) options_.saved(name, folder);
  return {.body = saved_json(name, folder)};
}

Answer PlaygroundApi::filmstrip(const HttpRequest& http, int id) {
  const Fields fields(http.query);
  playground::FilmstripOptions options;
  const std::string theme = fields.text("theme", "light"), format = fields.text("format", "png"),
                    head = fields.text("head", "");
  if (theme != "light" && theme != "dark") throw BadRequest{"unknown theme"};
  if (format != "png" && format != "svg" && format != "pdf") throw BadRequest{"unknown format"};
  options.theme = theme == "dark" ? draw::Theme::dark : draw::Theme::light;
  const std::string palette = fields.text("palette", "cividis");
  const auto known = std::find_if(draw::kPalettes.begin(), draw::kPalettes.end(),
                                  [&](draw::Palette p) { return draw::name_of(p) == palette; });
  if (known == draw::kPalettes.end()) throw BadRequest{"unknown palette"};
  options.palette = *known;
  if (!head.empty()) {
    const std::size_t point = head.find('.');
    const auto layer = parse_count(head.substr(0, point));
    const auto number = point == std::string::npos ? std::nullopt : parse_count(head.substr(point + 1));
    if (!layer || !number) throw BadRequest{"a head is LAYER.HEAD"};
    options.head = {static_cast<int>(*layer), static_cast<int>(*number)};
  }
  const playground::ToyRecord record =
      session_.frames(id, 0, ToyState::failed, std::chrono::milliseconds(0), http.left);
  const playground::ToyTask task = playground::task_of(record.settings);
  constexpr double dpi = 150;
  const std::string name = concat("x.", format);
  Answer answer{.type = format == "svg"   ? "image/svg+xml"
                        : format == "pdf" ? "application/pdf"
                                          : "image/png"};
  answer.body =
      draw::encoded(playground::filmstrip_figure(record, task, options), draw::picture_format(name), dpi);
  answer.headers.emplace_back("Content-Disposition",
                              concat("attachment; filename=\"headlight-strip.", format, "\""));
  return answer;
}

}  // namespace headlight::serve
