#include "models/gguf_cuts.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/pattern.h"

namespace headlight::models {
namespace {

// Each table row has the patterns as the models' own tokenizer.json publish them. llama.cpp rewrites some of
// them for its regular expressions; where the two differ (combining marks in gpt-4o, for example), the
// published pattern is the one that the model was trained with.

// Letters of scripts with two cases, as DeepSeek's first tokenizer lists them.
constexpr std::string_view kCasedLetters =
    "A-Za-z"
    R"(\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C})"
    R"(\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5})"
    R"(\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B})"
    R"(\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45})"
    R"(\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})";

constexpr std::string_view kAnyCaseEnding = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr std::string_view kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])",
                           kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
constexpr std::string_view kSpaces = R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";

// Splits words by letter case: "camelCase" is two words. `ending` becomes part of the word, `numbers` are separate.
std::string by_case(std::string_view ending, std::string_view numbers) {
  const std::string_view before = R"([^\r\n\p{L}\p{N}]?)";
  return concat(before, kUpper, "*", kLower, "+", ending, "|", before, kUpper, "+", kLower, "*", ending, "|",
                numbers, R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)", kSpaces);
}

// The family of GPT-4's pattern.
std::string by_words(std::string_view letters, std::string_view numbers, std::string_view signs,
                     std::string_view spaces = kSpaces) {
  return concat(kAnyCaseEnding, R"(|[^\r\n\p{L}\p{N}]?)", letters, "|", numbers, "| ?", signs, spaces);
}

std::vector<std::string> deepseek_v3() {
  return {R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
          concat(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)",
                 R"(| ?[\p{P}\p{S}]+[\r\n]*)", kSpaces)};
}

std::vector<std::string> deepseek(std::string_view letters, std::string_view signs, bool trailing_spaces,
                                  std::string_view numbers) {
  std::vector<std::string> list = {R"([\r\n])", concat(R"(\s?)", letters), concat(R"(\s?)", signs)};
  if (trailing_spaces) list.emplace_back(R"(\s+$)");
  list.emplace_back(R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)");
  list.emplace_back(numbers);
  return list;
}

std::vector<GgufCut> classic_cuts() {
  const std::string gpt2(text::gpt2_pattern()), llama3(text::llama3_pattern()), qwen2(text::qwen2_pattern());
  return {
      {{"gpt-2", "mpt", "phi-2", "olmo", "jais", "trillion", "roberta-bpe", "jina-es", "jina-de",
        "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code", "modern-bert", "exaone4", "gigachat",
        "mellum", "a.x-4.0", "granite-docling"},
       {gpt2}},
      {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       {llama3},
       true,
       true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {llama3}},
      {{"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan", "solar-open", "grok-2", "kormo",
        "f2llmv2"},
       {qwen2}},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"}},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"},
       {R"(\p{N})", gpt2}},
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {std::string(kBloom)}},
      {{"viking"}, {std::string(kBloom), R"(\p{N})"}},
  };
}

std::vector<GgufCut> recent_cuts() {
  const std::string any_signs = R"([^\s\p{L}\p{N}]+[\r\n]*)";
  return {
      {{"tekken"}, {by_case("", R"(\p{N})")}, true, true},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
       {by_case(concat(kAnyCaseEnding, "?"), R"(\p{N}{1,3})")}},
      {{"tiny_aya", "cohere2moe"},
       {R"(\d{1,3}(?=(?:\d{3})*\b))", by_case(concat(kAnyCaseEnding, "?"), R"(\p{N}{1,3})")}},
      {{"qwen35"}, {by_words(R"([\p{L}\p{M}]+)", R"(\p{N})", R"([^\s\p{L}\p{M}\p{N}]+[\r\n]*)")}},
      {{"deepseek-llm"},
       deepseek(concat("[", kCasedLetters, "]+"),
                R"([!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)", true,
                R"(\p{N}+)")},
      {{"deepseek-coder"}, deepseek(R"(\p{L}+)", R"(\p{P}+)", false, R"(\p{N})")},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, deepseek_v3()},
      {{"seed-coder"}, {by_words(R"(\p{L}+)", R"(\p{N})", R"([^\s\p{L}\p{N}\r\n]+)")}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"},
       {by_words(R"(\p{L}+)", R"(\p{N})", any_signs, R"(|\s*[\r\n]|\s+(?!\S)|\s+)")}},
      {{"minicpm5"}, {R"(\p{N}{1,3})", by_words(R"(\p{L}+)", R"(\p{N}+)", any_signs)}, true},
      {{"laguna"}, {R"([^\n]+|[\n]+)", std::string(text::qwen2_pattern())}},
  };
}

}  // namespace

const std::vector<GgufCut>& gguf_cuts() {
  static const std::vector<GgufCut> table = [] {
    std::vector<GgufCut> all = classic_cuts();
    for (GgufCut& cut : recent_cuts()) all.push_back(std::move(cut));
    return all;
  }();
  return table;
}

const GgufCut& gguf_cut(std::string_view name, const std::string& file) {
  std::string known;
  for (const GgufCut& cut : gguf_cuts()) {
    if (std::find(cut.names.begin(), cut.names.end(), name) != cut.names.end()) return cut;
    for (const std::string& one : cut.names) known += (known.empty() ? "" : ", ") + one;
  }
  throw Error(
      ErrorKind::input, "gguf.pre",
      concat(escaped(file), ": unknown pre-tokenizer \"", escaped(name, 40), "\".\nKnown are: ", known, "."));
}

}  // namespace headlight::models
