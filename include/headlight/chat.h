// Conversations: messages become the prompt that a model was trained on, by the chat template in its files.
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
  std::string role = "user";  // "system", "user", "assistant", or what else the template knows
  std::string content = {};
};

struct ChatOptions {
  bool add_generation_prompt = true;  // end where the model's answer begins
};

// False: its files have none. Throws Error{input} when they cannot be read.
[[nodiscard]] bool has_chat_template(const Model& model);

// The conversation as the template writes it. Throws Error{input}: chat.missing for a model without a template,
// chat.template for one that is not understood or takes too long, chat.messages for messages that the template
// refuses, with its own words.
[[nodiscard]] std::string chat_text(const Model& model, std::span<const ChatMessage> messages,
                                    const ChatOptions& options = {});
// The same as token ids. Nothing is put around them: the template writes its special tokens itself.
[[nodiscard]] Prompt chat_prompt(const Model& model, std::span<const ChatMessage> messages,
                                 const ChatOptions& options = {});

// How the model's own files say that its tokens are to be drawn (generation_config.json).
struct SuggestedOptions {
  GenerateOptions options = {};
  std::string notice =
      {};  // what was taken from where; empty: the files say nothing, the options are the defaults
};
[[nodiscard]] SuggestedOptions suggested_options(const Model& model);

}  // namespace headlight

#pragma GCC visibility pop
