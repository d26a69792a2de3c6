// Conversations: formats messages as the prompt that a chat model was trained on, with the chat template of its files.
//
//   const std::vector<headlight::ChatMessage> messages = {{"user", "Why is the sky blue?"}};
//   const headlight::Prompt prompt = headlight::chat_prompt(model, messages);
#pragma once

#include <span>
#include <string>

#include "headlight/run.h"
#include "headlight/write.h"

#pragma GCC visibility push(default)

namespace headlight {

struct ChatMessage {
  std::string role = "user";  // "system", "user", "assistant", or another role of the template
  std::string content = {};
};

struct ChatOptions {
  bool add_generation_prompt = true;  // end with the header of the model's answer
};

// Whether the model's files have a chat template. Throws Error{input} if they cannot be read.
[[nodiscard]] bool has_chat_template(const Model& model);

// The conversation formatted by the template. Throws Error{input}: chat.missing for a model without a template,
// chat.template for a template that is not supported or exceeds the limits, chat.messages for messages that the
// template rejects, with the template's own message.
[[nodiscard]] std::string chat_text(const Model& model, std::span<const ChatMessage> messages,
                                    const ChatOptions& options = {});
// The same as token ids. No special tokens are added: the template writes its own.
[[nodiscard]] Prompt chat_prompt(const Model& model, std::span<const ChatMessage> messages,
                                 const ChatOptions& options = {});

// Sampling options recommended by the model's files (generation_config.json).
struct SuggestedOptions {
  GenerateOptions options = {};
  std::string notice =
      {};  // which options come from which file; empty: the files recommend none, all are defaults
};
[[nodiscard]] SuggestedOptions suggested_options(const Model& model);

}  // namespace headlight

#pragma GCC visibility pop
