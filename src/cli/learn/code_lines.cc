#include "cli/learn/code_lines.h"

#include <algorithm>

#include "core/concat.h"
#include "draw/text.h"

namespace headlight::cli {
namespace {

constexpr int kDeeper = 4;          // indentation of a continued line
constexpr std::size_t kShort = 16;  // characters of a part that is too short
constexpr auto kNone = std::string_view::npos;

std::size_t indentation_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// The last place within `width` at which `mark` begins, behind the indentation; npos: there is none.
std::size_t last_of(std::string_view line, std::string_view mark, int width) {
  std::size_t found = kNone;
  for (std::size_t at = line.find(mark, indentation_of(line)); at != kNone; at = line.find(mark, at + 1))
    if (draw::display_width(line.substr(0, at)) <= width) found = at;
  return found;
}

// A space at which a line of C++ or Python can be broken: behind a bracket or a comma if that leaves neither part short.
std::size_t break_of_code(std::string_view line, int width) {
  for (const std::string_view mark : {") ", ", "}) {
    const std::size_t at = last_of(line, mark, width - 1);
    if (at != kNone && at > indentation_of(line) + kShort && line.size() - at > kShort) return at + 1;
  }
  return last_of(line, " ", width);
}

std::string broken_code(std::string_view line, int width) {
  const std::string deeper(indentation_of(line) + kDeeper, ' ');
  std::string out, rest(line);
  while (draw::display_width(rest) > width) {
    const std::size_t at = break_of_code(rest, width);
    if (at == kNone) break;
    out += rest.substr(0, at) + "\n";
    rest = deeper + rest.substr(at + 1);
  }
  return out + rest;
}

// Each option that does not fit begins a line of its command.
std::string broken_command(std::string_view line, int width) {
  std::string out, rest(line);
  while (draw::display_width(rest) > width) {
    const std::size_t at = last_of(rest, " --", width - 2);
    if (at == kNone) break;
    out += rest.substr(0, at) + " \\\n";
    rest = std::string(kDeeper, ' ') + rest.substr(at + 1);
  }
  return out + rest;
}

std::string wrapped_comment(std::string_view line, std::string_view mark, int width) {
  const std::string start = concat(line.substr(0, indentation_of(line)), mark, " ");
  std::string_view words = line.substr(indentation_of(line) + mark.size());
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  std::string out = draw::wrapped(words, width - static_cast<int>(start.size()), 0);
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos; at += 1 + start.size())
    out.insert(at + 1, start);
  return start + out;
}

}  // namespace

std::string code_lines(std::string_view line, std::string_view language, int width) {
  if (draw::display_width(line) <= width) return std::string(line);
  if (language == "sh") return broken_command(line, width);
  if (language != "cpp" && language != "python") return std::string(line);
  const std::string_view mark = language == "cpp" ? "//" : "#";
  const std::size_t indent = indentation_of(line);
  if (line.substr(indent).starts_with(mark)) return wrapped_comment(line, mark, width);
  const std::size_t comment = line.find(concat("  ", mark));
  if (comment == kNone) return broken_code(line, width);
  return concat(wrapped_comment(concat(line.substr(0, indent), line.substr(comment + 2)), mark, width), "\n",
                broken_code(line.substr(0, comment), width));
}

}  // namespace headlight::cli
