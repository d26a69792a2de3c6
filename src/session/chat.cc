#include "headlight/chat.h"

#include <fmt/format.h>

#include <ctime>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/chat_files.h"
#include "text/jinja.h"
#include "text/unicode.h"

namespace headlight {
namespace {

using text::jinja::List;
using text::jinja::None;
using text::jinja::Object;
using text::jinja::Value;

Object variables_of(const models::ChatFile& file, std::span<const ChatMessage> messages,
                    const ChatOptions& options) {
  List list;
  for (const ChatMessage& message : messages)
    list.emplace_back(Object{.entries = {{"role", Value(text::to_well_formed(message.role))},
                                         {"content", Value(text::to_well_formed(message.content))}}});
  Object variables;
  variables.set("messages", Value(std::move(list)));
  variables.set("add_generation_prompt", Value(options.add_generation_prompt));
  variables.set("tools", Value(None{}));
  variables.set("documents", Value(None{}));
  for (const auto& [name, token] : file.tokens) variables.set(name, Value(text::to_well_formed(token)));
  return variables;
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm out{};
  (void)::localtime_r(&now, &out);
  return out;
}

}  // namespace

bool has_chat_template(const Model& model) {
  return models::find_chat_template(model.info().path, model.tokenizer()).has_value();
}

std::string chat_text(const Model& model, std::span<const ChatMessage> messages, const ChatOptions& options) {
  const ModelInfo& info = model.info();
  const std::optional<models::ChatFile> file = models::find_chat_template(info.path, model.tokenizer());
  if (!file)
    throw Error(
        ErrorKind::input, "chat.missing",
        concat("the model \"", escaped(info.name),
               "\" has no chat template, so it cannot hold a conversation\nTo continue a text, use headlight "
               "generate. To add a template, put chat_template.jinja next to config.json."));
  const text::jinja::Template made(file->source, file->name);
  return made.render(variables_of(*file, messages, options), local_time(), {});
}

Prompt chat_prompt(const Model& model, std::span<const ChatMessage> messages, const ChatOptions& options) {
  if (model.tokenizer() == nullptr)
    throw Error(ErrorKind::input, "chat.tokenizer",
                concat("the model \"", escaped(model.info().name),
                       "\" has no tokenizer, so it cannot read messages"));
  Prompt prompt;
  prompt.ids = model.tokenizer()->encode(chat_text(model, messages, options), SpecialTokens::leave_out);
  if (prompt.ids.empty())
    throw Error(ErrorKind::input, "chat.messages",
                "the chat template returns an empty prompt for these messages");
  return prompt;
}

SuggestedOptions suggested_options(const Model& model) {
  const models::GenerationDefaults found = models::read_generation_defaults(model.info().path);
  SuggestedOptions out;
  if (found.name.empty()) return out;
  std::string what;
  const auto take = [&](const char* name, const auto& value, auto& option) {
    if (!value) return;
    option = *value;
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", name, *value);
  };
  if (found.draws) {
    out.options.temperature = 1;
    take("temperature", found.temperature, out.options.temperature);
    take("top-k", found.top_k, out.options.top_k);
    take("top-p", found.top_p, out.options.top_p);
    take("min-p", found.min_p, out.options.min_p);
  }
  if (found.repetition_penalty && *found.repetition_penalty != 1)
    take("repetition penalty", found.repetition_penalty, out.options.repetition_penalty);
  if (!found.draws && what.empty()) return out;
  try {
    check(out.options);
  } catch (const Error& error) {
    throw Error(ErrorKind::input, "generation.rules", concat(escaped(found.name), ": ", error.what()));
  }
  out.notice =
      fmt::format("sampling options from {}: {}", escaped(found.name), what.empty() ? "temperature 1" : what);
  return out;
}

}  // namespace headlight
