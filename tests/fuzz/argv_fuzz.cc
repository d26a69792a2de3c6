// Any command line, with the commands themselves taken out: it is understood, or refused with exit code 2
// and a message. Arguments are the input's lines; a line can hold anything but a newline and NUL.
#include <CLI/App.hpp>
#include <vector>

#include "cli/commands.h"
#include "fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  using testing::fail;
  std::vector<std::string> lines = {"headlight"};
  std::string line;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') lines.push_back(std::move(line)), line.clear();
    else if (data[i] != 0) line += static_cast<char>(data[i]);
  }
  if (!line.empty()) lines.push_back(line);
  std::vector<const char*> argv;
  for (const std::string& argument : lines) argv.push_back(argument.c_str());

  const auto program = cli::make_program();
  bool ran = false;
  for (CLI::App* command : program->get_subcommands({})) command->callback([&ran] { ran = true; });
  const cli::CommandResult result = cli::run(*program, static_cast<int>(argv.size()), argv.data());
  testing::check_message(result.err);
  if (result.code == 0) {
    if (!result.err.empty() || (result.out.empty() && !ran)) fail("success without a result");
  } else {
    if (result.code != 2 || ran) fail("code " + std::to_string(result.code) + ": " + result.err);
    if (result.err.rfind("error: ", 0) != 0 || !result.out.empty()) fail("message " + result.err);
  }
  return 0;
}
