#include "text/decoder.h"

#include <algorithm>
#include <array>

#include "headlight/error.h"
#include "text/byte_characters.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

using Tokens = std::vector<std::string>;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string out;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string::npos; at = found + from.size())
    out.append(text, at, found - at).append(to);
  text = out.append(text, at);
}

// All rules below start with a space and one of these characters; few tokens do.
bool may_need_rules(std::string_view text) {
  constexpr std::string_view kSecond = ".?!,'nd";
  for (std::size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1))
    if (at + 1 < text.size() && kSecond.find(text[at + 1]) != std::string_view::npos) return true;
  return false;
}

// Removes the spaces that BERT's tokenizer puts around punctuation in English.
void clean_up(std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {
      {{" .", "."},
       {" ?", "?"},
       {" !", "!"},
       {" ,", ","},
       {" ' ", "'"},
       {" n't", "n't"},
       {" 'm", "'m"},
       {" do not", " don't"},
       {" 's", "'s"},
       {" 've", "'ve"},
       {" 're", "'re"}}};
  if (!may_need_rules(text)) return;
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

std::string joined(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

void apply(const ByteLevel&, Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += characters_to_bytes(token).value_or(token);
  tokens = {to_well_formed(bytes)};
}

void apply(const Metaspace& step, Tokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    replace_all(tokens[i], step.replacement, i == 0 && step.scheme != PrependScheme::never ? "" : " ");
}

void apply(const JoinWordPieces& step, Tokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) {
      if (tokens[i].starts_with(step.prefix)) tokens[i].erase(0, step.prefix.size());
      else tokens[i].insert(tokens[i].begin(), ' ');
    }
    if (step.cleanup) clean_up(tokens[i]);
  }
}

void apply(const JoinSuffixed& step, Tokens& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    replace_all(tokens[i], step.suffix, i + 1 == tokens.size() ? "" : " ");
}

void apply(const JoinBytes&, Tokens& tokens) {
  Tokens out;
  std::string bytes;
  const auto flush = [&] {
    if (is_well_formed(bytes)) {
      if (!bytes.empty()) out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), to_utf8(kReplacement));
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_named(token)) {
      bytes += static_cast<char>(*byte);
    } else {
      flush();
      out.push_back(std::move(token));
    }
  }
  flush();
  tokens = std::move(out);
}

void apply(const Fuse&, Tokens& tokens) { tokens = {joined(tokens)}; }

void apply(const StripCharacters& step, Tokens& tokens) {
  for (std::string& token : tokens) {
    std::string_view left = token;
    for (std::size_t i = 0; i < step.start && left.starts_with(step.content); ++i)
      left.remove_prefix(step.content.size());
    for (std::size_t i = 0; i < step.stop && left.ends_with(step.content); ++i)
      left.remove_suffix(step.content.size());
    token = std::string(left);
  }
}

void apply(const JoinCtc& step, Tokens& tokens) {
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (std::string& token : tokens) {
    replace_all(token, step.pad, "");
    if (!step.cleanup) continue;
    clean_up(token);
    replace_all(token, step.word_delimiter, " ");
  }
}

void replace_found(const Replace& step, const Finder& finder, Tokens& tokens, std::size_t limit) {
  std::vector<Found> found;
  std::size_t size = 0;
  for (std::string& token : tokens) {
    found.clear();
    finder.find(token, {0, static_cast<std::uint32_t>(token.size())}, found);
    std::string out;
    for (const auto& [range, match] : found) {
      if (match) out += step.content;
      else out.append(token, range.begin, range.size());
    }
    token = std::move(out);
    size += token.size();
    if (size > limit)
      throw Error(ErrorKind::input, "tokenizer.growth",
                  "tokenizer: the decoder makes this text more than 16 times as long; the file is damaged or "
                  "hostile");
  }
}

}  // namespace

Decoder::Decoder(const std::vector<DecoderStep>& steps) {
  for (const DecoderStep& settings : steps) {
    Step step{settings, std::nullopt};
    if (const auto* with = std::get_if<Replace>(&settings)) step.finder.emplace(with->pattern);
    steps_.push_back(std::move(step));
  }
}

std::string Decoder::decode(std::vector<std::string> tokens) const {
  if (steps_.empty()) {
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) text += ' ';
      text += tokens[i];
    }
    return text;
  }
  const std::size_t limit = 16 * joined(tokens).size() + (std::size_t{1} << 20);
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& settings) {
          if constexpr (std::is_same_v<std::decay_t<decltype(settings)>, Replace>)
            replace_found(settings, *step.finder, tokens, limit);
          else apply(settings, tokens);
        },
        step.settings);
  }
  return joined(tokens);
}

}  // namespace headlight::text
