// headlight look: the first screen, computed with the default model.
#include <memory>

#include "cli/commands.h"
#include "cli/look/view.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/terminal.h"

namespace headlight::cli {
namespace {

struct LookSettings {
  std::string text, model = "en-fr";
  Color color = Color::automatic;
  Index threads = 0;
};

void run(const LookSettings& s) {
  Context ctx({.threads = static_cast<int>(s.threads)});
  PageStyle style;
  style.color = color_depth(s.color);
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  print(look_text(session::glance_at(ctx, open_model(s.model), s.text), program_name(), style));
}

}  // namespace

void add_look(CLI::App& program) {
  CLI::App* command =
      add_command(program, {.name = "look",
                            .what = "Translate a sentence and show its attention",
                            .usage = "headlight look [TEXT] [--model NAME|PATH]",
                            .examples = "  headlight look\n"
                                        "  headlight look \"She gave the book to her brother.\"\n"});
  const auto s = std::make_shared<LookSettings>();
  add_text(*command, "TEXT", s->text, "A sentence (default: the sentences of the tutorials)");
  add_model(*command, s->model);
  add_threads(*command, s->threads);
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
