#include "cli/app.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>

#include "cli/chat/chat.h"
#include "cli/commands.h"
#include "cli/embed/embed.h"
#include "cli/help/formatter.h"
#include "cli/json_output.h"
#include "cli/plan/plan.h"
#include "cli/ranks.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kFirstLine = 300;  // bytes, with "error: " and the newline

constexpr int kUsage = exit_code(ErrorKind::usage), kInput = exit_code(ErrorKind::input),
              kFile = exit_code(ErrorKind::file), kResource = exit_code(ErrorKind::resource);

// A file opened while descriptor 0, 1 or 2 is closed would get that number, and messages would be written to it.
void occupy_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) (void)::open("/dev/null", O_RDWR);
  }
}

// Ctrl-C in the middle of a write leaves nothing half-written behind.
extern "C" void leave_on_signal(int signal) {
  io::remove_temporaries();
  ::_exit(128 + signal);
}

// Parameters are read from the mapped file. If it is truncated meanwhile, or its disk fails, the system reports
// it by this signal.
extern "C" void leave_on_lost_file(int /*signal*/) {
  io::remove_temporaries();
  constexpr std::string_view text = "error: a file in use was truncated or could not be read\n";
  (void)!::write(2, text.data(), text.size());
  ::_exit(kFile);
}

void set_signals() {
  (void)std::signal(SIGBUS, leave_on_lost_file);
  (void)std::signal(SIGPIPE, SIG_IGN);  // a broken pipe then shows as a failed write
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, leave_on_signal) == SIG_IGN) (void)std::signal(signal, SIG_IGN);  // nohup
  }
}

// CLI11 parses `--scale=` as `--scale` and uses the next argument as its value.
void check_arguments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--") return;
    if (arg.starts_with("--") && arg.find('=') == arg.size() - 1) {
      throw CLI::ValidationError(std::string(arg.substr(0, arg.size() - 1)), "the value is missing");
    }
  }
}

// `--json` without a value is `--json -`. The next argument is its file only if it can be one, so that a TEXT stays a TEXT.
std::vector<const char*> with_json_target(int argc, const char* const* argv) {
  std::vector<const char*> arguments;
  for (int i = 0; i < argc; ++i) {
    arguments.push_back(argv[i]);
    if (std::string_view(argv[i]) == "--") {
      arguments.insert(arguments.end(), argv + i + 1, argv + argc);
      break;
    }
    if (std::string_view(argv[i]) == "--json" && (i + 1 == argc || !is_json_target(argv[i + 1])))
      arguments.push_back("-");
  }
  return arguments;
}

// The innermost command that was found.
const CLI::App& asked_of(const CLI::App& app) {
  const CLI::App* asked = &app;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
  return *asked;
}

// "; did you mean --threads?" for a misspelt option or command.
std::string almost(const CLI::App& app, bool name_it) {
  const CLI::App* asked = &asked_of(app);
  std::vector<std::string> names;
  for (const CLI::Option* option : asked->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App* command : asked->get_subcommands({})) names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& argument : app.remaining(true)) {
    if (asked == &app && argument.find(' ') != std::string::npos)
      return "\n"
             "To look at a sentence: headlight look SENTENCE";
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    const std::string_view close = nearest_typed_name(name, known);
    if (!close.empty())
      return concat(name_it ? concat(", and ", escaped(name), " is unknown") : "", "; did you mean ", close,
                    "?");
  }
  return "";
}

// In the given order: CLI11's own message reverses them.
std::string extras_text(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  if (&asked_of(app) == &app && !extras.front().starts_with('-'))
    return escaped(concat("\"", extras.front(), "\" is not a command"), kFirstLine);
  std::string text = extras.size() == 1 ? "unexpected argument:" : "unexpected arguments:";
  for (const std::string& argument : extras) text += concat(" ", argument);
  return escaped(text, kFirstLine);
}

// A text without quotes: its words, as split by the shell.
std::string quote_hint(const CLI::App& app) {
  const CLI::App& asked = asked_of(app);
  std::string text;
  for (const CLI::Option* option : asked.get_options())
    if (option->get_positional() && option->get_name(true).starts_with("TEXT") && option->count() == 1)
      text = option->results().front();
  for (const std::string& word : app.remaining(true)) {
    if (text.empty() || word.starts_with('-')) return "";
    text += " " + word;
  }
  return concat("\nPut a text of several words in quotes: \"", escaped(text, kFirstLine / 2), "\"");
}

// "--check: 1 required ANSWER missing" of CLI11 as "--check: the value ANSWER is missing".
std::string message_of(const CLI::ParseError& error) {
  const std::string text = error.what();
  constexpr std::string_view before = ": 1 required ", after = " missing";
  const std::size_t at = text.find(before);
  if (at == std::string::npos || !text.ends_with(after)) return text;
  const std::size_t name = at + before.size();
  return concat(text.substr(0, at), ": the value ", text.substr(name, text.size() - name - after.size()),
                " is missing");
}

CommandResult usage_error(const CLI::App& app, const CLI::ParseError& error) {
  // A missing option may have been misspelt.
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  std::string text = extras ? extras_text(app) : escaped(message_of(error), kFirstLine);
  if (missing || extras) text += almost(app, missing);
  if (extras && text.find('\n') == std::string::npos) text += quote_hint(app);
  return {kUsage, "", error_text(text) + usage_of(app)};
}

void add_commands(CLI::App& app) {
  struct Group {
    const char* heading;
    std::vector<void (*)(CLI::App&)> commands;
  };
  for (const Group& group : {
           Group{"See attention", {add_look, add_show, add_serve}},
           {"Explain it", {add_explain, add_compare, add_heads_command, add_ablate, add_lab, add_learn}},
           {"Run and train models",
            {add_generate, add_chat, add_translate, add_embed, add_evaluate, add_train, add_plot}},
           {"Files and tokens", {add_info, add_verify, add_convert, add_tokenizer, add_tokenize}},
           {"Kernels and machine", {add_compute, add_doctor, add_bench, add_plan, add_bench_model, add_help}},
       }) {
    for (const auto& add : group.commands) add(app);
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      if (command->get_group() == kNewCommand) command->group(group.heading);
  }
}

// Runs the command once the whole line has been parsed.
CommandResult parse_and_run(CLI::App& app, int argc, const char* const* argv) {
  try {
    check_arguments(argc, argv);
    const std::vector<const char*> arguments = with_json_target(argc, argv);
    app.parse(static_cast<int>(arguments.size()), arguments.data());
    if (app.get_subcommands().empty()) throw CLI::RequiredError("a command");
  } catch (const CLI::CallForHelp&) {
    return {0, help_text(chosen_command(app), Detail::usual)};
  } catch (const CLI::CallForAllHelp&) {
    return {0, help_text(chosen_command(app), Detail::full)};
  } catch (const CLI::CallForVersion& version) {
    return {0, concat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) { return usage_error(app, error); }
  return {};
}

// Runs `body` and turns every outcome into a message and an exit code.
template <class Body>
CommandResult guarded(const Body& body) {
  const auto fail = [](int code, std::string_view message) {
    return CommandResult{code, "", error_text(message)};
  };
  try {
    return body();
  } catch (const BrokenPipe&) {
    return {128 + SIGPIPE};  // the reader closed the pipe: not an error
  } catch (const Stopped& stopped) { return {128 + stopped.signal}; } catch (const Ended& ended) {
    return {ended.code};
  } catch (const Error& error) {
    return fail(exit_code(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(kResource, "not enough memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(kFile, escaped(error.what(), kFirstLine));
  } catch (const std::system_error& error) {  // a thread that could not start
    return fail(kResource, escaped(error.what(), kFirstLine));
  } catch (const std::exception& error) {
    return fail(kInput, concat("unexpected failure: ", escaped(error.what(), kFirstLine)));
  }
}

}  // namespace

std::string error_text(std::string_view message) {
  constexpr std::string_view intro = "error: ";
  std::string out;
  for (bool first = true; first || !message.empty(); first = false) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    message.remove_prefix(std::min(message.size(), end + 1));
    if (first) {
      out += concat(intro, escaped(line, kFirstLine - intro.size() - 1), "\n");
    } else {
      out += concat(
          "  ", escaped(line.substr(std::min(line.find_first_not_of(' '), line.size())), kFirstLine), "\n");
    }
  }
  return out;
}

std::shared_ptr<CLI::App> make_program() {
  auto app = std::make_shared<CLI::App>(
      "Transformer attention on CPUs: fast, bit-reproducible and fully inspectable.", "headlight");
  app->formatter(std::make_shared<Help>("headlight COMMAND [options]"));
  app->set_version_flag("--version", concat("headlight ", kVersion), "Print the version and exit");
  app->set_help_flag("-h,--help", "Print this help and exit");
  app->set_help_all_flag("--help-all", "Print the help with all options");
  add_commands(*app);
  // Finds the command; the next word is its argument even if it is the name of a command: "lab heads", "show train".
  app->require_subcommand(0, 1);
  app->footer(
      "headlight help COMMAND shows the options of a command, with examples.\n"
      "Exit codes: 0 success, 1 wrong answer (learn --check), 2 wrong usage, 3 invalid input, 4 file error, "
      "5 out of memory or threads, 6 failed check or result not finite, 128 + N signal N.");
  return app;
}

CommandResult run(CLI::App& program, int argc, const char* const* argv) {
  return guarded([&] { return parse_and_run(program, argc, argv); });
}

int run(int argc, const char* const* argv, Processes* processes) noexcept {
  try {
    occupy_standard_streams();
    set_signals();
    return with_ranks(processes, argc, argv, [&] {
      const CommandResult result = guarded([&] {
        CommandResult inner = run(*make_program(), argc, argv);
        print(inner.out);
        return inner;
      });
      print_rank_error(result.err);
      return result.code;
    });
  } catch (...) {  // out of memory while the message was built
    constexpr std::string_view text = "error: not enough memory\n";
    (void)!::write(2, text.data(), text.size());
    return kResource;
  }
}

}  // namespace headlight::cli
