// headlight chat: a conversation, and the attention of its answers.
#include "cli/chat/chat.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "cli/app.h"
#include "cli/interrupt.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/sampling.h"
#include "cli/standard_input.h"
#include "cli/stop_signal.h"
#include "cli/terminal.h"
#include "cli/written_rows.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/chat.h"
#include "headlight/error.h"

namespace headlight::cli {
namespace {

constexpr int kBars = 64;  // of /show, where the terminal has room
constexpr std::string_view kHelp =
    "/show [L.H]    draw what each token of the last answer attends to, by one head or the mean of the last "
    "layer.\n"
    "/system TEXT   set the system message and start a new conversation; without TEXT: none.\n"
    "/reset         start a new conversation.\n"
    "/exit          quit, as does the end of input.\n";

struct ChatSettings {
  std::string model = "en", system;
  SamplingSettings sampling = {.options = {.max_tokens = 1000}};
  Index threads = 0;
};

// Parses "2.5"; empty for anything else.
std::optional<HeadPlace> parse_head(const std::string& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::optional<Index> layer = parse_integer(text.substr(0, point));
  const std::optional<Index> head =
      point < text.size() ? parse_integer(text.substr(point + 1)) : std::nullopt;
  constexpr Index most = 1'000'000;
  if (!layer || !head || *layer < 0 || *head < 0 || *layer > most || *head > most) return std::nullopt;
  return HeadPlace{static_cast<int>(*layer), static_cast<int>(*head)};
}

class Conversation {
 public:
  Conversation(const ChatSettings& settings, const Model& model)
      : model_(model),
        options_(options_for(model, settings.sampling)),
        ctx_({.threads = static_cast<int>(settings.threads), .activations = Activations::rounded}),
        system_(settings.system) {
    reset();
  }

  // Returns false when the chat has ended.
  [[nodiscard]] bool read(const std::string& line) {
    if (!line.starts_with('/')) {
      if (line.find_first_not_of(" \t") != std::string::npos) answer(line);
      return true;
    }
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string command = line.substr(0, space);
    const std::string rest = space < line.size() ? line.substr(space + 1) : "";
    if (command == "/exit" || command == "/quit") return false;
    if (command == "/reset") reset();
    else if (command == "/system") tell_first(rest);
    else if (command == "/show") show(rest);
    else if (command == "/help") print(kHelp);
    else complain(concat(escaped(command, 40), " is not a command; /help lists them"));
    return true;
  }

 private:
  void reset() {
    messages_.clear();
    last_ = {};
    if (!system_.empty()) messages_.push_back({"system", system_});
  }
  void tell_first(const std::string& text) {
    system_ = text;
    reset();
  }

  // At a terminal, report an error that the user can correct; a script must stop.
  static void complain(const std::string& what) {
    if (::isatty(STDIN_FILENO) == 0) throw Error(ErrorKind::usage, "chat.line", what);
    print_error(concat(what, "\n"));
  }

  void answer(const std::string& text) {
    messages_.push_back({"user", text});
    try {
      write(chat_prompt(model_, messages_));
    } catch (const Error& error) {
      messages_.pop_back();
      const bool longer = error.code() == "generate.length";
      if (!longer && error.code() != "chat.messages") throw;
      complain(concat(error.what(), longer ? "\n/reset starts anew." : ""));
    }
  }

  void write(const Prompt& prompt) {
    const std::atomic<int>& signal = catch_stop_signals();
    std::size_t shown = 0;
    GenerateOptions options = options_;
    options.on_token = [&](const GeneratedToken& token) {
      if (!token.text.empty()) print(printable(token.text));
      shown += token.text.size();
      return signal == 0;
    };
    std::vector<GeneratedText> texts = generate(ctx_, model_, std::span(&prompt, 1), options);
    last_ = std::move(texts[0]);
    print(printable(std::string_view(last_.text).substr(shown)) + "\n");
    if (signal == SIGTERM || signal == SIGHUP) throw Stopped{signal};
    if (signal != 0) print_error("(stopped)\n");
    else if (last_.ending == Ending::length)
      print_error(concat("(cut off after ", last_.ids.size(), " tokens; --max-tokens allows more)\n"));
    release_interrupt();
    messages_.push_back({"assistant", last_.text});
  }

  void show(const std::string& head) {
    if (last_.ids.empty()) return complain("nothing to show: the model has not answered yet");
    RowSettings settings;
    if (!head.empty()) {
      const std::optional<HeadPlace> place = parse_head(head);
      if (!place)
        return complain(concat("\"", escaped(head, 40), "\" is not a head; write LAYER.HEAD, such as 2.5"));
      settings.heads = {*place};
    }
    try {
      print_rows(chosen_row(model_, Part::decoder, settings));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      complain(error.what());
    }
  }

  // The row of a token is that of the position before it, which predicted it. Recomputed with f32 activations.
  void print_rows(const inspect::RowChoice& choice) {
    Context exact({.threads = ctx_.threads()});
    const Run run =
        attend(exact, model_, {.ids = last_.prompt_ids, .continuation = last_.ids}, {.keep_inputs = false});
    const RowPrinter printer(model_, choice, kBars);
    const std::vector<std::string> labels = labels_of(run.source());
    const Index heads = model_.info().find(Part::decoder)->heads[static_cast<std::size_t>(choice.layer)];
    print(printer.heading());
    for (std::size_t i = last_.prompt_ids.size(); i < labels.size(); ++i) {
      const auto seen = static_cast<Index>(i);
      std::vector<float> weights(i, 0);
      const Index first = choice.head ? *choice.head : 0, end = choice.head ? first + 1 : heads;
      for (Index h = first; h < end; ++h) {
        const Tensor row =
            run.weights({Part::decoder, choice.layer, static_cast<int>(h)}, {seen - 1, seen}, {0, seen});
        for (std::size_t j = 0; j < i; ++j)
          weights[j] += row.as<float>()[j] / static_cast<float>(end - first);
      }
      print(printer.line(labels[i], {labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(i)},
                         weights));
    }
  }

  const Model& model_;
  GenerateOptions options_;
  Context ctx_;
  std::string system_;
  std::vector<ChatMessage> messages_;
  GeneratedText last_;
};

// Fails early for errors that would affect every message. A template may still reject this particular one.
void check_template(const Model& model) {
  const ChatMessage hello{"user", "hello"};
  try {
    (void)chat_prompt(model, std::span(&hello, 1));
  } catch (const Error& error) {
    if (error.code() != "chat.messages") throw;
  }
}

void run(const ChatSettings& s) {
  check_sampling(s.sampling);
  const Model model = open_model(s.model);
  if (model.info().kind != ModelKind::decoder)
    throw Error(ErrorKind::usage, "chat.kind",
                concat("the model \"", escaped(model.info().name), "\" does not generate text: it is an ",
                       model.info().kind == ModelKind::encoder ? "encoder" : "encoder-decoder"));
  print_notes(model.info().notices);
  check_template(model);
  Conversation conversation(s, model);
  const bool typed = ::isatty(STDIN_FILENO) != 0;
  if (typed)
    print_error(concat("Chatting with ", escaped(model.info().name),
                       ". Ctrl-C stops an answer; /help lists commands.\n"));
  StandardLines input;
  std::vector<std::string> lines;
  while (true) {
    if (typed) print_error("> ");
    if (!input.read(lines)) break;
    for (const std::string& line : lines)
      if (!conversation.read(line)) return;
  }
  if (typed) print_error("\n");
}

}  // namespace

void add_chat(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "chat",
       .what = "Chat with a model and see what its answers attend to",
       .usage = "headlight chat --model NAME|PATH [--system TEXT] [--temperature X] [options]",
       .examples =
           "  headlight chat --model models/qwen2.5-0.5b-instruct\n"
           "  headlight chat --model llama-3.2-1b.gguf --system \"Answer in one sentence.\"\n"
           "  printf 'Hello!\\n/show 3.1\\n' | headlight chat --model models/smollm\n\n"
           "  Each line is a message, formatted by the chat template of the model.\n"
           "  Ctrl-C stops an answer, or ends the program at the prompt.\n"
           "  Commands: /show [L.H] (attention of the last answer), /system TEXT, /reset, /help, /exit.\n"});
  const auto s = std::make_shared<ChatSettings>();
  add_model(*command, s->model);
  add_text(*command, "--system", s->system, "The system message");
  add_sampling(*command, s->sampling);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
