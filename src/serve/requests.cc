#include "serve/requests.h"

#include <algorithm>
#include <array>

#include "draw/color.h"
#include "headlight/error.h"
#include "io/json.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kLongestText = std::size_t{64} << 10;
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostJoined = 1024;  // heads of a mean
constexpr double kMostTemperature = 10;
constexpr std::int64_t kMostTopK = 1'000'000, kMostSeed = 9'007'199'254'740'991;

[[noreturn]] void refuse(std::string why) { throw BadRequest{std::move(why)}; }

}  // namespace

io::Json parse_object(std::string_view body, std::span<const std::string_view> fields) {
  if (!is_utf8(body)) refuse("the body is not UTF-8");
  try {
    io::Json json = io::Json::parse(body, "request");
    if (!json.is(io::Json::Kind::object)) refuse("the body is not a JSON object");
    for (const std::string& key : json.keys())
      if (std::find(fields.begin(), fields.end(), key) == fields.end()) refuse("unknown field");
    return json;
  } catch (const Error&) { refuse("the body is not well-formed JSON"); }
}

namespace {

std::string text_of(const io::Json& json, std::string_view key, std::size_t most) {
  const io::Json* value = json.find(key);
  if (value == nullptr || value->is(io::Json::Kind::null)) return "";
  if (!value->is(io::Json::Kind::text)) refuse("a field is not a text");
  if (value->text().size() > most)
    throw Error(ErrorKind::resource, "serve.length", "the text is too long for the page: at most 64 KiB");
  return value->text();
}

Index integer_of(const io::Json& json, std::string_view key, std::int64_t most) {
  const io::Json* value = json.find(key);
  if (value == nullptr) return 0;
  if (!value->is(io::Json::Kind::integer)) refuse("a field is not a whole number");
  if (value->integer() < 0 || value->integer() > most) refuse("a number is out of range");
  return value->integer();
}

}  // namespace

std::string text_field(const io::Json& json, std::string_view key) {
  return text_of(json, key, kLongestName);
}
Index integer_field(const io::Json& json, std::string_view key) {
  return integer_of(json, key, 1'000'000'000);
}

double number_field(const io::Json& json, std::string_view key, double most) {
  const io::Json* value = json.find(key);
  if (value == nullptr) return 0;
  if (!value->is(io::Json::Kind::integer) && !value->is(io::Json::Kind::real))
    refuse("a field is not a number");
  const double x = value->real();
  if (!(x >= 0 && x <= most)) refuse("a number is out of range");
  return x;
}

std::optional<Index> parse_count(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  Index value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<Part> parse_part(std::string_view text) {
  for (const Part part : {Part::encoder, Part::decoder, Part::cross})
    if (text == name_of(part)) return part;
  return std::nullopt;
}

Fields::Fields(std::string_view query) {
  auto pairs = parse_query(query);
  if (!pairs) refuse("the query is not well formed");
  pairs_ = std::move(*pairs);
}

const std::string* Fields::find(std::string_view name) const {
  const auto found =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& p) { return p.first == name; });
  return found == pairs_.end() ? nullptr : &found->second;
}

std::string Fields::text(std::string_view name, std::string_view otherwise) const {
  const std::string* value = find(name);
  return value != nullptr ? *value : std::string(otherwise);
}

Index Fields::integer(std::string_view name) const {
  const std::string* value = find(name);
  const auto number = value != nullptr ? parse_count(*value) : std::nullopt;
  if (!number) refuse("a number is missing or not whole");
  return *number;
}

Range Fields::range(std::string_view name) const {
  const std::string* value = find(name);
  if (value == nullptr) return {};
  const std::size_t colon = value->find(':');
  const auto begin = parse_count(std::string_view(*value).substr(0, colon));
  const auto end = colon == std::string::npos ? std::nullopt : parse_count(value->substr(colon + 1));
  if (!begin || !end || *begin >= *end) refuse("a range is not BEGIN:END");
  return {*begin, *end};
}

RunRequest parse_run(std::string_view body, const std::string& first_model) {
  constexpr std::array<std::string_view, 8> fields = {"model", "text",        "second", "target",
                                                      "more",  "temperature", "top_k",  "seed"};
  const io::Json json = parse_object(body, fields);
  RunRequest request;
  request.model = text_of(json, "model", kLongestName);
  if (request.model.empty()) request.model = first_model;
  request.text = text_of(json, "text", kLongestText);
  if (request.text.empty()) refuse("the text is empty; write a few words");
  request.second = text_of(json, "second", kLongestText);
  request.target = text_of(json, "target", kLongestText);
  request.temperature = number_field(json, "temperature", kMostTemperature);
  request.top_k = integer_of(json, "top_k", kMostTopK);
  request.seed = integer_of(json, "seed", kMostSeed);
  if (const io::Json* more = json.find("more"); more != nullptr) {
    if (!more->is(io::Json::Kind::list)) refuse("a field is not a list");
    for (const io::Json& item : more->items()) {
      if (!item.is(io::Json::Kind::integer) || item.integer() < 0 || item.integer() > 1'000'000'000)
        refuse("a token is not a whole number");
      request.more.push_back(static_cast<std::int32_t>(item.integer()));
    }
    if (static_cast<Index>(request.more.size()) > kMostTokens) refuse("there are too many tokens");
  }
  return request;
}

models::SamplingOptions parse_sampling(std::string_view body, Index most) {
  constexpr std::array<std::string_view, 4> fields = {"temperature", "top_k", "seed", "count"};
  const io::Json json = parse_object(body, fields);
  models::SamplingOptions options;
  options.temperature = number_field(json, "temperature", kMostTemperature);
  options.top_k = integer_of(json, "top_k", kMostTopK);
  options.seed = static_cast<std::uint64_t>(integer_of(json, "seed", kMostSeed));
  if (json.find("count") != nullptr) options.most = integer_of(json, "count", most);
  else options.most = 1;
  return options;
}

namespace {

template <typename T, std::size_t N>
T named(const std::array<T, N>& all, std::string_view name, const char* otherwise) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](T item) { return draw::name_of(item) == name; });
  if (found == all.end()) refuse(otherwise);
  return *found;
}

MapOf parse_of(const Fields& fields) {
  const std::string of = fields.text("of", "weights");
  if (of != "weights" && of != "scores" && of != "values") refuse("of is not one of weights, scores, values");
  return of == "weights" ? MapOf::weights : of == "scores" ? MapOf::scores : MapOf::values;
}

// How tokens are shown: merged into words, muted, rows renormalized.
void parse_joins(const Fields& fields, ViewRequest& request) {
  const auto is_on = [&](std::string_view name) {
    const std::string value = fields.text(name, "0");
    if (value != "0" && value != "1") refuse("a switch is not 0 or 1");
    return value == "1";
  };
  request.words = is_on("words");
  request.renormalize = is_on("renormalize");
  const std::string mute = fields.text("mute", "none");
  if (mute != "none" && mute != "first" && mute != "special")
    refuse("mute is not one of none, first, special");
  request.mute_first = mute == "first";
  request.mute_special = mute == "special";
  const bool weights = request.of == MapOf::weights, is_muted = mute != "none";
  if (request.renormalize && (!weights || !is_muted)) refuse("renormalize needs muted weights");
  if (request.words && request.of == MapOf::scores) refuse("scores of words have no meaning");
  if ((request.words || is_muted) && (request.from.size() > 0 || request.to.size() > 0))
    refuse("a range of a map cannot be merged into words or muted");
}

}  // namespace

std::vector<HeadPlace> parse_heads(std::string_view text) {
  std::vector<HeadPlace> heads;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t dot = one.find('.');
    const auto layer = parse_count(one.substr(0, dot));
    const auto head = dot == std::string_view::npos ? std::nullopt : parse_count(one.substr(dot + 1));
    if (!layer || !head || heads.size() >= kMostJoined) refuse("heads are not LAYER.HEAD,…");
    heads.push_back({static_cast<int>(*layer), static_cast<int>(*head)});
  }
  return heads;
}

MapWindow parse_window(std::string_view query) {
  const Fields fields(query);
  MapWindow window{.rows = fields.range("rows"),
                   .columns = fields.range("columns"),
                   .in_cell = parse_count(fields.text("in", "1")).value_or(0),
                   .of = parse_of(fields)};
  if (window.rows.size() == 0 || window.columns.size() == 0) refuse("rows and columns are missing");
  if (window.in_cell < 1 || window.in_cell > kMostTokens) refuse("the size of a cell is out of range");
  return window;
}

FileRequest parse_figure(std::string_view query) {
  const Fields fields(query);
  FileRequest request;
  const auto part = parse_part(fields.text("part", ""));
  if (!part) refuse("unknown part");
  request.view.part = *part;
  const Index layer = fields.integer("layer"), head = fields.integer("head");
  request.view.heads = {{static_cast<int>(layer), static_cast<int>(head)}};
  request.view.from = fields.range("from");
  request.view.to = fields.range("to");
  constexpr std::array<FileForm, 5> forms = {FileForm::png, FileForm::svg, FileForm::pdf, FileForm::json,
                                             FileForm::npy};
  const std::string form = fields.text("format", "png");
  const auto known = std::find_if(forms.begin(), forms.end(), [&](FileForm f) { return name_of(f) == form; });
  if (known == forms.end()) refuse("unknown format");
  request.form = *known;
  const std::string theme = fields.text("theme", "light");
  if (theme != "light" && theme != "dark") refuse("unknown theme");
  request.look.theme = theme == "light" ? draw::Theme::light : draw::Theme::dark;
  using draw::Transfer;
  constexpr std::array<Transfer, 3> transfers = {Transfer::linear, Transfer::square_root,
                                                 Transfer::logarithm};
  request.look.transfer = named(transfers, fields.text("scale", "sqrt"), "unknown scale");
  request.look.palette = named(draw::kPalettes, fields.text("palette", "cividis"), "unknown palette");
  const std::string range = fields.text("range", "fixed");
  if (range != "fixed" && range != "auto") refuse("unknown range");
  request.look.auto_range = range == "auto";
  request.view.of = parse_of(fields);
  parse_joins(fields, request.view);
  // A map computed from several heads instead of one.
  if (const std::vector<HeadPlace> heads = parse_heads(fields.text("heads", "")); !heads.empty()) {
    request.view.heads = heads;
    request.view.mean = MeanOver::layers;
  }
  request.view.rollout = fields.text("rollout", "0") == "1";
  return request;
}

}  // namespace headlight::serve
