#include "cli/model_input.h"

#include <CLI/App.hpp>
#include <limits>

#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/standard_input.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/sides.h"
#include "serve/run.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 24;

void add_numbers(CLI::App& command, const std::string& name, std::vector<std::int32_t>& list,
                 const std::string& description) {
  const auto read = [&list, name](const std::string& text) {
    for (const std::string& part : split_list(text)) {
      const auto value = parse_integer(part);
      if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max())
        refuse_value(name, text, "whole numbers with commas: 5,17,3");
      list.push_back(static_cast<std::int32_t>(*value));
    }
  };
  add_reader(command, name, read, description)->type_name("N,N,…");
}

void read_heads(const std::string& name, const std::string& text, std::vector<inspect::HeadPlace>& heads) {
  constexpr Index most = 100000;
  for (const std::string& part : split_list(text)) {
    const std::size_t point = part.find('.');
    const auto layer = parse_integer(std::string_view(part).substr(0, point));
    const auto head =
        point == std::string::npos ? std::nullopt : parse_integer(std::string_view(part).substr(point + 1));
    if (!layer || !head || *layer < 0 || *head < 0 || *layer > most || *head > most)
      refuse_value(name, text, "LAYER.HEAD, both counted from 0, several with commas: 2.5 or 2.5,3.0");
    heads.push_back({static_cast<int>(*layer), static_cast<int>(*head)});
  }
}

std::string text_to_read(const ModelInput& input) {
  if (!input.text.empty()) return input.text;
  std::string text = input_is_piped() ? read_standard_input(kLongestText) : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.empty() ? std::string(serve::kSentence) : text;
}

inspect::Reading reading_of(const inspect::Subject& subject, const std::string& text,
                            const std::vector<std::int32_t>& ids, std::string_view option) {
  const Tokenizer* tokenizer = subject.tokenizer ? &*subject.tokenizer : nullptr;
  if (!ids.empty()) return inspect::read_ids(tokenizer, ids, subject.model->config().vocabulary);
  if (tokenizer == nullptr) {
    throw Error(ErrorKind::usage, "input.tokenizer",
                concat("\"", escaped(subject.name),
                       "\" has no tokenizer, so a text cannot be read; give token numbers with ", option));
  }
  return inspect::read_text(*tokenizer, text);
}

std::string range_of(const inspect::Subject& subject, Part part) {
  return concat("the ", name_of(part), " attention of \"", escaped(subject.name), "\" has layers 0 to ",
                subject.layers(part) - 1, " and heads 0 to ", subject.heads(part) - 1, " in each");
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_model(CLI::App& command, std::string& model) {
  add_text(command, "--model", model,
           concat("A model's folder or .gguf file, or the name of one in the folder models (default: ", model,
                  ")"))
      ->type_name("NAME|PATH");
  // Options are read in the order in which they are added: the model's name is there already.
  add_reader(
      command, "--adapter", [&model](const std::string& folder) { model += "+" + folder; },
      "The folder of an adapter for the model, as `headlight train` or PEFT writes it")
      ->type_name("FOLDER");
}

void add_model_input(CLI::App& command, ModelInput& input, const std::string& text_description) {
  add_text(command, "TEXT", input.text, text_description);
  add_model(command, input.model);
  add_text(command, "--second", input.second, "A second text, for models that read pairs such as BERT");
  add_text(command, "--target", input.target, "The translation to look at (default: the model's own)");
  add_numbers(command, "--ids", input.ids, "Token numbers in place of TEXT");
  add_numbers(command, "--target-ids", input.target_ids,
              "The decoder's input as token numbers, its start token included");
  add_numbers(command, "--type-ids", input.type_ids, "Segment numbers, for models that have them");
}

void add_part(CLI::App& command, std::optional<Part>& part) {
  add_choice<std::optional<Part>>(
      command, "--part", part,
      {{"encoder", Part::encoder}, {"decoder", Part::decoder}, {"cross", Part::cross}},
      "Which attention of a translator; cross: of the writer on the text");
}

void add_heads(CLI::App& command, std::vector<inspect::HeadPlace>& heads, const std::string& name,
               const std::string& description) {
  command
      .add_option_function<std::string>(
          name, [&heads, name](const std::string& text) { read_heads(name, text, heads); }, description)
      ->type_name("L.H");
}

inspect::Question read_question(Context& ctx, const inspect::Subject& subject, const ModelInput& input,
                                Needs needs) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, "input.options", what); };
  if (!input.text.empty() && !input.ids.empty())
    refuse("TEXT and --ids are two ways to say the same; give one");
  if (!input.target.empty() && !input.target_ids.empty())
    refuse("--target and --target-ids are two ways to say the same; give one");
  if (!input.second.empty()) {
    if (!input.ids.empty() || !input.type_ids.empty() || !input.target.empty() || !input.target_ids.empty())
      refuse("--second is a text beside TEXT; leave out --ids, --type-ids, --target and --target-ids");
    return inspect::pair_question(subject, text_to_read(input), input.second);
  }
  inspect::Question question;
  question.source = reading_of(subject, input.ids.empty() ? text_to_read(input) : "", input.ids, "--ids");
  question.types = input.type_ids;
  const bool translates = subject.model->config().kind == models::ModelKind::encoder_decoder;
  const bool has_target = !input.target.empty() || !input.target_ids.empty();
  if (!translates) {
    if (has_target) refuse(concat("--target: \"", escaped(subject.name), "\" does not translate"));
    return question;
  }
  if (!input.target_ids.empty()) {
    // Verbatim, as other libraries take decoder_input_ids.
    question.decoder_input = reading_of(subject, "", input.target_ids, "--target-ids");
    question.decoder_input.tokens.front().added = true;
  } else if (has_target) question.written = reading_of(subject, input.target, {}, "--target-ids");
  else if (needs == Needs::target) question.written = inspect::translate(ctx, subject, question.source);
  return question;
}

Model open_model(const std::string& name) { return Model::open(name, {.places = model_places()}); }

void check_part(const inspect::Subject& subject, Part part) {
  if (subject.has(part)) return;
  const bool decoder = subject.model->config().kind == models::ModelKind::decoder;
  throw Error(ErrorKind::usage, "input.part",
              concat("--part ", name_of(part), ": \"", escaped(subject.name), "\" is ",
                     decoder ? "a decoder" : "an encoder", " alone; its only part is ",
                     decoder ? "decoder" : "encoder"));
}

void check_layer(const inspect::Subject& subject, Part part, Index layer) {
  if (layer >= subject.layers(part))
    throw Error(ErrorKind::usage, "input.layer", concat("--layer ", layer, ": ", range_of(subject, part)));
}

void check_head(const inspect::Subject& subject, Part part, const inspect::HeadPlace& place) {
  if (place.layer >= subject.layers(part) || place.head >= subject.heads(part))
    throw Error(ErrorKind::usage, "input.head",
                concat("--head ", place.layer, ".", place.head, ": ", range_of(subject, part)));
}

Sides sides_of(const inspect::Subject& subject, const inspect::Question& question, Part part) {
  inspect::Sides sides = inspect::readings_of(subject, question, part);
  return {std::move(sides.queries), std::move(sides.keys),
          part == Part::cross ? "query (writing)" : "query (from)"};
}

}  // namespace headlight::cli
