#include "models/tokenizer_pieces.h"

#include <algorithm>
#include <array>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/tokenizer_file.h"
#include "text/parts.h"

namespace headlight::models {
namespace {

using io::Json;

constexpr std::uint64_t kLargestFile = 256 << 20;

// The class of a tokenizer, without "Tokenizer" and "Fast"; older folders have only the model's family.
std::string class_of(const io::Folder& folder, const std::optional<Json>& config) {
  std::string name = config ? config->text_or("tokenizer_class", "") : "";
  for (const std::string_view end : {"Fast", "Tokenizer"})
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  if (!name.empty() || !folder.has("config.json")) return name;
  const Json model = Json::parse(folder.read("config.json", kLargestFile), folder.path_of("config.json"));
  static constexpr std::array<std::array<std::string_view, 2>, 14> kFamilies = {
      {{"llama", "Llama"},
       {"mistral", "Llama"},
       {"mixtral", "Llama"},
       {"gemma", "Gemma"},
       {"gemma2", "Gemma"},
       {"t5", "T5"},
       {"mt5", "T5"},
       {"albert", "Albert"},
       {"deberta-v2", "DebertaV2"},
       {"xlm-roberta", "XLMRoberta"},
       {"camembert", "Camembert"},
       {"mbart", "MBart"},
       {"m2m_100", "M2M100"},
       {"pegasus", "Pegasus"}}};
  for (const auto& [family, its_class] : kFamilies)
    if (model.text_or("model_type", "") == family) return std::string(its_class);
  return "";
}

// These shift the ids of pieces, or look them up elsewhere.
bool has_other_ids(std::string_view name) {
  static constexpr std::string_view kClasses[] = {"XLMRoberta", "Camembert", "MBart",   "MBart50",
                                                  "M2M100",     "Nllb",      "Pegasus", "Barthez",
                                                  "XGLM",       "Reformer",  "BigBird"};
  return std::find(std::begin(kClasses), std::end(kClasses), name) != std::end(kClasses);
}

struct Ends {
  std::string_view begin, end;  // empty: none
};

Ends ends_of_class(std::string_view name, const std::optional<Json>& config) {
  const auto flag = [&](const char* field, bool usual) {
    return config ? config->boolean_or(field, usual) : usual;
  };
  if (name == "Llama" || name == "CodeLlama" || name == "Gemma")
    return {flag("add_bos_token", true) ? (name == "Gemma" ? "<bos>" : "<s>") : "",
            flag("add_eos_token", false) ? (name == "Gemma" ? "<eos>" : "</s>") : ""};
  if (name == "T5" || name == "MT5") return {"", "</s>"};
  if (name == "Albert" || name == "DebertaV2") return {"[CLS]", "[SEP]"};
  return {};
}

// Two texts are separated by the end where there is a beginning ([CLS] a [SEP] b [SEP]); else they follow each other.
void add_ends(const Ends& ends, const std::string& file, text::TokenizerParts& parts) {
  using Kind = text::TemplatePiece::Kind;
  text::Template around;
  const auto special = [&](std::string_view name, std::int32_t type) {
    return text::TemplatePiece{Kind::special, std::string(name), type};
  };
  for (const std::string_view name : {ends.begin, ends.end}) {
    if (name.empty()) continue;
    const auto id = text::vocab_of(parts.model).find(name);
    if (!id)
      throw Error(
          ErrorKind::input, "tokenizer.special",
          concat(escaped(file), ": has no piece ", name, ", which this kind of tokenizer adds to texts"));
    around.specials.push_back({std::string(name), {{std::string(name), *id}}});
  }
  const bool both = !ends.begin.empty() && !ends.end.empty();
  for (std::vector<text::TemplatePiece>* pieces : {&around.single, &around.pair}) {
    if (!ends.begin.empty()) pieces->push_back(special(ends.begin, 0));
    pieces->push_back({Kind::first, {}, 0});
    if (pieces == &around.pair) {
      if (!ends.end.empty()) pieces->push_back(special(ends.end, 0));
      pieces->push_back({Kind::second, {}, both ? 1 : 0});
    }
    if (!ends.end.empty()) pieces->push_back(special(ends.end, both && pieces == &around.pair ? 1 : 0));
  }
  parts.post_processor = {std::move(around)};
}

}  // namespace

std::optional<Json> tokenizer_config(const io::Folder& folder) {
  if (!folder.has("tokenizer_config.json")) return std::nullopt;
  return Json::parse(folder.read("tokenizer_config.json", kLargestFile),
                     folder.path_of("tokenizer_config.json"));
}

std::optional<Tokenizer> tokenizer_from_pieces(const io::Folder& folder, const std::string& name,
                                               std::string& why_not) {
  const std::optional<Json> config = tokenizer_config(folder);
  const std::string its_class = class_of(folder, config);
  if (has_other_ids(its_class)) {
    why_not = concat("has ", escaped(name, 60), ", whose pieces have other ids in ", its_class,
                     " models; tokenizer.json is needed");
    return std::nullopt;
  }
  Tokenizer plain = tokenizer_from_sentence_piece(folder.read(name, kLargestFile), folder.path_of(name));
  const Ends ends = ends_of_class(its_class, config);
  if (ends.begin.empty() && ends.end.empty()) return plain;
  text::TokenizerParts parts = text::parts_of(plain);
  add_ends(ends, folder.path_of(name), parts);
  return text::make_tokenizer(std::move(parts));
}

Tokenizer tokenizer_from_pair_files(const io::Folder& folder) {
  if (const auto config = tokenizer_config(folder); config && config->boolean_or("separate_vocabs", false))
    throw Error(ErrorKind::input, "tokenizer.vocab",
                concat(escaped(config->file()),
                       ": separate_vocabs true is not supported: source and target must share vocab.json"));
  const auto read = [&](const char* name) { return folder.read(name, kLargestFile); };
  return tokenizer_from_sentence_pair(Json::parse(read("vocab.json"), folder.path_of("vocab.json")),
                                      read("source.spm"), read("target.spm"));
}

}  // namespace headlight::models
