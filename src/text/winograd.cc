// Winograd's schemas: a small, strict reader of the XML they come in.
#include <charconv>
#include <map>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "text/coref_set.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kCode = "coref.xml";
constexpr std::size_t kDeepest = 16, kLongestText = std::size_t{1} << 16;

// Runs of white space as one space, none at the ends.
std::string collapsed(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) out += c;
    else if (!out.ends_with(' ')) out += ' ';
  }
  return out;
}

// A schema while it is read: the texts of its elements, by their path below the schema.
class Schema {
 public:
  void add(const std::string& path, std::string text) { texts_[path].push_back(std::move(text)); }

  // Throws if a part is missing; returns nothing if the answers are not words of the text.
  [[nodiscard]] std::optional<CorefItem> item(const FilePlace& place, std::size_t number) const {
    const std::string before = only("text/txt1", place), pronoun = only("text/pron", place),
                      after = only("text/txt2", place), letter = only("correctAnswer", place);
    const auto answers = texts_.find("answers/answer");
    const std::size_t count = answers == texts_.end() ? 0 : answers->second.size();
    const std::size_t right = letter.empty() ? count : static_cast<std::size_t>(letter[0] - 'A');
    if (count < 2 || right >= count || pronoun.empty())
      refuse(place, kCode,
             concat("a schema with ", count, " answers of which \"", escaped(letter, 20), "\" is right"));
    const bool space = !after.empty() && is_one_of(character_at(after, 0).code, kLetter | kNumber);
    CorefItem item{.id = concat("schema ", number),
                   .text = concat(before, before.empty() ? "" : " ", pronoun, space ? " " : "", after),
                   .group = before,
                   .candidates = {},
                   .right = right};
    item.pronoun.begin = before.empty() ? 0 : before.size() + 1;
    item.pronoun.end = item.pronoun.begin + pronoun.size();
    for (const std::string& answer : answers->second) {
      item.candidates.push_back(find_words(item.text, answer, item.pronoun.begin));
      if (item.candidates.back() == ByteSpan{}) return std::nullopt;
    }
    return item;
  }

 private:
  [[nodiscard]] std::string only(const std::string& path, const FilePlace& place) const {
    const auto found = texts_.find(path);
    if (found == texts_.end() || found->second.size() != 1)
      refuse(place, kCode, concat("a schema needs <", path, "> once"));
    return found->second[0];
  }
  std::map<std::string, std::vector<std::string>> texts_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : name_(name) {
    const std::string_view prolog = bytes.substr(0, bytes.find('>'));
    if (prolog.find("ISO-8859-1") == std::string_view::npos) {
      text_ = bytes;
      check_utf8(here(), kCode, text_);
    } else {  // its bytes are the first 256 characters
      for (const char c : bytes) append(text_, static_cast<unsigned char>(c));
    }
  }

  CorefSet read() {
    while (at_ < text_.size()) {
      if (text_[at_] == '<') read_tag();
      else read_text();
    }
    if (!path_.empty()) refuse_here(concat("<", escaped(path_.back(), 40), "> is not closed"));
    return std::move(set_);
  }

 private:
  [[nodiscard]] FilePlace here() const { return {name_, line_}; }
  [[noreturn]] void refuse_here(const std::string& what) const { refuse(here(), kCode, what); }

  // The text up to `end`, which is skipped.
  std::string_view take_until(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string::npos) refuse_here(concat("\"", end, "\" is missing"));
    const std::string_view taken = std::string_view(text_).substr(at_, found - at_);
    for (const char c : taken) line_ += c == '\n' ? 1 : 0;
    at_ = found + end.size();
    return taken;
  }

  void read_tag() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (rest.starts_with("<?")) return (void)take_until("?>");
    if (rest.starts_with("<!--")) return (void)take_until("-->");
    if (rest.starts_with("<!")) refuse_here("a declaration such as DOCTYPE or CDATA, which is not read");
    ++at_;
    const std::string_view name = take_until(">");
    if (name.starts_with('/')) return close(name.substr(1));
    for (const char c : name)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
        refuse_here(concat("<", escaped(name, 40), "> is not the name of an element"));
    if (name.empty() || path_.size() >= kDeepest) refuse_here("elements without names, or too deep");
    path_.emplace_back(name);
    content_.clear();
    if (path_.size() == 2) schema_ = {}, schema_line_ = line_;
  }

  void close(std::string_view name) {
    if (path_.empty() || path_.back() != name)
      refuse_here(concat("</", escaped(name, 40), "> closes no open element"));
    if (path_.size() > 2) {
      std::string path = path_[2];
      for (std::size_t i = 3; i < path_.size(); ++i) path += "/" + path_[i];
      schema_.add(path, collapsed(content_));
    } else if (path_.size() == 2) {
      if (path_[0] != "collection" || path_[1] != "schema")
        refuse_here("is not <collection> with <schema> in it");
      if (auto item = schema_.item({name_, schema_line_}, ++schemas_)) set_.items.push_back(std::move(*item));
      else ++set_.left_out;
    }
    path_.pop_back();
    content_.clear();
  }

  void read_text() {
    if (text_[at_] == '&') return read_entity();
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    if (path_.empty() && !trimmed({&c, 1}).empty()) refuse_here("text outside of all elements");
    content_ += c;
    if (content_.size() > kLongestText) refuse_here("a text of more than 65,536 bytes");
  }

  void read_entity() {
    ++at_;
    const std::string_view name = take_until(";");
    static const std::map<std::string_view, char> kNames = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    if (const auto found = kNames.find(name); found != kNames.end()) {
      content_ += found->second;
      return;
    }
    const bool hex = name.starts_with("#x");
    std::uint32_t code = 0;
    const std::string_view digits = name.substr(std::min<std::size_t>(name.size(), hex ? 2 : 1));
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
    const bool good = name.starts_with('#') && problem == std::errc() &&
                      end == digits.data() + digits.size() && code >= 0x20 && code < 0x110000 &&
                      (code < 0xD800 || code > 0xDFFF);
    if (!good) refuse_here(concat("\"&", escaped(name, 20), ";\" is not a valid character"));
    append(content_, code);
  }

  const std::string& name_;
  std::string text_;
  std::size_t at_ = 0, line_ = 1, schema_line_ = 1, schemas_ = 0;
  std::vector<std::string> path_;
  std::string content_;
  Schema schema_;
  CorefSet set_{.kind = "Winograd schemas", .items = {}};
};

}  // namespace

CorefSet parse_winograd(std::string_view bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

}  // namespace headlight::text
