#include "cli/sampling.h"

#include "cli/model_input.h"
#include "cli/numbers.h"
#include "core/concat.h"
#include "headlight/chat.h"
#include "headlight/error.h"

namespace headlight::cli {
namespace {

// A number that overrides a default.
void add_rule(CLI::App& command, const std::string& name, double& value, bool& given,
              const std::string& description) {
  const auto read = [&value, &given, name](const std::string& text) {
    const std::optional<double> number = parse_real(text);
    if (!number) refuse_value(name, text, "a finite number");
    value = *number;
    given = true;
  };
  add_reader(command, name, read, description)->type_name("X");
}

}  // namespace

void add_sampling(CLI::App& command, SamplingSettings& settings) {
  GenerateOptions& o = settings.options;
  bool& given = settings.rules_given;
  begin_group(command, "Sampling");
  add_count(command, "--max-tokens", o.max_tokens,
            concat("Maximum number of tokens (default: ", o.max_tokens, ")"), {1, 1000000});
  add_rule(command, "--temperature", o.temperature, given,
           "0: always the likeliest token (default); 0.8: varied");
  const auto read_top_k = [&o, &given](const std::string& text) {
    const std::optional<Index> count = parse_integer(text);
    if (!count || *count < 1 || *count > 1000000000)
      refuse_value("--top-k", text, "a whole number between 1 and 1000000000");
    o.top_k = *count;
    given = true;
  };
  add_reader(command, "--top-k", read_top_k, "Sample from the N likeliest tokens")->type_name("N");
  add_rule(command, "--top-p", o.top_p, given, "Sample from the fewest tokens of total probability X");
  add_reader(
      command, "--seed",
      [&o](const std::string& text) {
        const std::optional<Index> seed = parse_integer(text);
        if (!seed || *seed < 0) refuse_value("--seed", text, "a whole number of at least 0");
        o.seed = static_cast<std::uint64_t>(*seed);
      },
      "Seed of the random draws (default: 0)")
      ->type_name("N");
  add_words(command, "--stop", o.stops, "Stop before this text; repeatable")
      ->type_name("TEXT")
      ->one_at_a_time();
  begin_group(command, "Sampling (more)", Detail::full);
  add_rule(command, "--min-p", o.min_p, given, "Tokens with at least X times the top probability");
  add_rule(command, "--repetition-penalty", o.repetition_penalty, given,
           "Above 1: make tokens in the text less likely");
}

void check_sampling(const SamplingSettings& settings) {
  check(settings.options);
  for (const std::string& stop : settings.options.stops)
    if (stop.empty()) refuse_value("--stop", stop, "a text");
}

GenerateOptions options_for(const Model& model, const SamplingSettings& settings) {
  GenerateOptions out = settings.options;
  if (settings.rules_given) return out;
  const SuggestedOptions suggested = suggested_options(model);
  if (suggested.notice.empty()) return out;
  out.temperature = suggested.options.temperature;
  out.top_k = suggested.options.top_k;
  out.top_p = suggested.options.top_p;
  out.min_p = suggested.options.min_p;
  out.repetition_penalty = suggested.options.repetition_penalty;
  print_notes({suggested.notice + "; --temperature 0 takes the likeliest token"});
  return out;
}

}  // namespace headlight::cli
