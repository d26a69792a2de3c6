// Splits a template into tags, and tags into words.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/jinja_syntax.h"
#include "text/unicode.h"

namespace headlight::text::jinja {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name) : name_(name) {
    for (std::size_t i = 0; i < source.size(); ++i) {  // every line ends in \n
      if (source[i] == '\r') {
        source_ += '\n';
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      } else {
        source_ += source[i];
      }
    }
    if (source_.ends_with('\n')) source_.pop_back();
  }

  std::vector<Token> read() {
    while (at_ < source_.size()) {
      const std::size_t open = next_tag();
      add_data(open);
      if (open == source_.size()) break;
      at_ = open + 2;
      if (peek() == '-' || peek() == '+') ++at_;
      if (source_[open + 1] == '#') comment();
      else if (source_[open + 1] == '%') inside(TokenKind::begin_tag, TokenKind::end_tag, "%}");
      else inside(TokenKind::begin_output, TokenKind::end_output, "}}");
    }
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  [[noreturn]] void refuse(std::string_view what) const { refuse_template(name_, line_, what); }
  Token& push(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), 0, 0, line_});
    return tokens_.back();
  }

  [[nodiscard]] std::size_t next_tag() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i)
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    return source_.size();
  }

  // Text up to a tag. A minus beside the tag removes all white space, a tag alone in its line the indentation before it.
  void add_data(std::size_t open) {
    std::string_view data = std::string_view(source_).substr(at_, open - at_);
    const bool at_line_start = at_ == 0 || trimmed_line_ || source_[at_ - 1] == '\n';
    if (strip_next_)
      while (!data.empty() && is_space(data.front())) data.remove_prefix(1);
    const char mark = open + 2 < source_.size() ? source_[open + 2] : '\0';
    if (open < source_.size()) {
      if (mark == '-') {
        while (!data.empty() && is_space(data.back())) data.remove_suffix(1);
      } else if (mark != '+' && source_[open + 1] != '{') {
        std::size_t keep = data.size();
        while (keep > 0 && (data[keep - 1] == ' ' || data[keep - 1] == '\t')) --keep;
        if (keep == 0 ? at_line_start && !strip_next_ : data[keep - 1] == '\n') data = data.substr(0, keep);
      }
    }
    if (!data.empty()) push(TokenKind::data, std::string(data));
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(open), '\n'));
    strip_next_ = trimmed_line_ = false;
  }

  // The line break after a statement tag or a comment is removed.
  void after(bool minus, bool trims) {
    strip_next_ = minus;
    if (minus || !trims || peek() != '\n') return;
    ++at_;
    ++line_;
    trimmed_line_ = true;
  }

  void comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string::npos) refuse("a comment {# that does not end");
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
    const bool minus = close > at_ && source_[close - 1] == '-';
    at_ = close + 2;
    after(minus, true);
  }

  void inside(TokenKind begin, TokenKind end, std::string_view close) {
    push(begin, "");
    int open = 0;  // brackets: "}}" within them closes a mapping
    while (true) {
      while (at_ < source_.size() && is_space(source_[at_])) line_ += source_[at_++] == '\n' ? 1 : 0;
      if (at_ >= source_.size()) refuse("a tag that does not end");
      const std::string_view rest = std::string_view(source_).substr(at_);
      const bool minus = rest[0] == '-' && rest.substr(1).starts_with(close);
      if (open == 0 && (minus || rest.starts_with(close))) {
        at_ += close.size() + (minus ? 1 : 0);
        push(end, "");
        return after(minus, end == TokenKind::end_tag);
      }
      word(open);
    }
  }

  void word(int& open) {
    const char c = peek();
    if (c == '\'' || c == '"') return quoted(c);
    if (is_digit(c)) return number();
    if (is_letter(c)) {
      const std::size_t begin = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      push(TokenKind::name, source_.substr(begin, at_ - begin));
      return;
    }
    static constexpr std::array<std::string_view, 26> kSigns = {
        "==", "!=", "<=", ">=", "//", "**", "(", ")", "[", "]", "{", "}", ".",
        ",",  ":",  "|",  "+",  "-",  "*",  "/", "%", "~", "=", "<", ">", ";"};
    for (const std::string_view sign : kSigns) {
      if (std::string_view(source_).substr(at_).starts_with(sign)) {
        if (sign == "(" || sign == "[" || sign == "{") ++open;
        if ((sign == ")" || sign == "]" || sign == "}") && --open < 0)
          refuse("a bracket that was never opened");
        push(TokenKind::sign, std::string(sign));
        at_ += sign.size();
        return;
      }
    }
    refuse(concat("\"", escaped(source_.substr(at_, 1)), "\" is unexpected here"));
  }

  void number() {
    const std::size_t begin = at_;
    std::string digits;
    bool real = false;
    for (; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (c == '_') continue;
      const bool point = c == '.' && !real && is_digit(peek(1));
      if (!is_digit(c) && !point) break;
      real = real || point;
      digits += c;
    }
    Token& token = push(real ? TokenKind::real : TokenKind::integer, source_.substr(begin, at_ - begin));
    const char* end = digits.data() + digits.size();
    const auto read = real ? std::from_chars(digits.data(), end, token.real)
                           : std::from_chars(digits.data(), end, token.integer);
    if (read.ec != std::errc() || read.ptr != end) refuse("a number that is too large");
  }

  void quoted(char mark) {
    std::string text;
    for (++at_;; ++at_) {
      if (at_ >= source_.size()) refuse("a text in quotes that does not end");
      const char c = source_[at_];
      if (c == mark) break;
      if (c == '\n') ++line_;
      if (c != '\\') {
        text += c;
        continue;
      }
      ++at_;
      escape(text);
    }
    ++at_;
    push(TokenKind::text, std::move(text));
  }

  void escape(std::string& text) {
    switch (const char c = peek()) {
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      case 'r': text += '\r'; break;
      case '\\':
      case '\'':
      case '"': text += c; break;
      case 'x': append(text, hexadecimal(2)); break;
      case 'u': append(text, hexadecimal(4)); break;
      case '\n': break;  // Python joins the lines
      default: (text += '\\') += c;
    }
  }

  char32_t hexadecimal(std::size_t digits) {
    std::uint32_t code = 0;
    const std::string_view rest = std::string_view(source_).substr(std::min(at_ + 1, source_.size()), digits);
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), code, 16);
    if (rest.size() != digits || read.ptr != rest.data() + digits || (code >= 0xD800 && code < 0xE000))
      refuse("an escape that is not a valid character");
    at_ += digits;
    return code;
  }

  const std::string& name_;
  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool strip_next_ = false, trimmed_line_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

void refuse_template(const std::string& name, int line, std::string_view what) {
  throw Error(ErrorKind::input, "chat.template", concat(escaped(name), ", line ", line, ": ", what));
}

std::vector<Token> read_tokens(std::string_view source, const std::string& name) {
  return Lexer(source, name).read();
}

}  // namespace headlight::text::jinja
