#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/expression.h"

#include <pcre2.h>

#include <algorithm>
#include <limits>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::text {
namespace {

// Patterns are untrusted input, and a pattern can take quadratic time or worse. The limit is a
// number of steps in proportion to the text, not a time, so that all machines accept the same texts. PCRE2
// calls back before each item of the pattern; a step is one such call, or eight bytes that an item consumed.
// A reasonable pattern takes at most ten steps per byte.
constexpr std::uint64_t kSteps = 20'000, kStepsPerByte = 100, kBytesPerStep = 8;
constexpr std::uint32_t kHeapLimitKib = 16'384;
constexpr std::size_t kLongestPattern = 20'000;

[[noreturn]] void refuse_expression(std::string_view pattern, std::string_view what) {
  throw Error(ErrorKind::input, "tokenizer.pattern",
              concat("the pattern \"", escaped(pattern, 120), "\" ", what));
}

// Tokenizer files are written for Oniguruma. Patterns that PCRE2 would interpret differently are refused,
// because a different split would be wrong: \h (a hex digit there, a space here) and classes with &&.
void check_dialect(const std::string& pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] == 'h' || pattern[i + 1] == 'H')
        refuse_expression(pattern, "uses \\h, which is not supported. Write [0-9a-fA-F].");
      ++i;
    } else if (pattern[i] == '[') {
      in_class = true;
    } else if (pattern[i] == ']') {
      in_class = false;
    } else if (in_class && pattern.compare(i, 2, "&&") == 0) {
      refuse_expression(pattern, "uses && within [ ], which is not supported");
    }
  }
}

// Steps used by one search.
struct Budget {
  std::string_view pattern;
  std::uint64_t left = 0;
  std::size_t place = 0;  // of the text, at the last call
};

// Bytes that an item may consume and then fail, which no callback reports: x{500}, or a back-reference
// (\1).
std::size_t bytes_of_item(std::string_view item, std::size_t remaining) {
  if (item.size() > 1 && item[0] == '\\' &&
      (item[1] == 'k' || item[1] == 'g' || (item[1] >= '1' && item[1] <= '9')))
    return remaining;
  const std::size_t brace = item.rfind('{');
  std::size_t times = 0;
  for (std::size_t i = brace;
       i != std::string_view::npos && ++i < item.size() && item[i] >= '0' && item[i] <= '9';)
    times = std::min<std::size_t>(times * 10 + static_cast<std::size_t>(item[i] - '0'), 1'000'000);
  return std::min(times, remaining);
}

int take_step(pcre2_callout_block* at, void* data) {
  auto& budget = *static_cast<Budget*>(data);
  const std::size_t moved = at->current_position > budget.place ? at->current_position - budget.place
                                                                : budget.place - at->current_position;
  budget.place = at->current_position;
  const std::size_t hidden = bytes_of_item(budget.pattern.substr(at->pattern_position, at->next_item_length),
                                           at->subject_length - budget.place);
  const std::uint64_t steps = 1 + (moved + hidden) / kBytesPerStep;
  if (steps > budget.left) return PCRE2_ERROR_CALLOUT;
  budget.left -= steps;
  return 0;
}

}  // namespace

struct Finder::Expression::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_context* limits = nullptr;

  ~Compiled() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }
};

Finder::Expression::Expression(const std::string& pattern)
    : pattern_(pattern), compiled_(std::make_unique<Compiled>()) {
  if (pattern.size() > kLongestPattern) refuse_expression(pattern, "is too long");
  check_dialect(pattern);
  // MULTILINE: ^ and $ match at line breaks, as in Oniguruma. No \C: it would split characters.
  constexpr std::uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
  int problem = 0;
  PCRE2_SIZE where = 0;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                                  &problem, &where, nullptr);
  if (compiled_->code == nullptr) {
    PCRE2_UCHAR message[128] = {};
    pcre2_get_error_message(problem, message, sizeof message);
    refuse_expression(pattern, concat("does not compile: ", reinterpret_cast<const char*>(message),
                                      " (at byte ", where, ")"));
  }
  compiled_->limits = pcre2_match_context_create(nullptr);
  if (compiled_->limits == nullptr) throw std::bad_alloc();
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  pcre2_set_match_limit(compiled_->limits, none);  // PCRE2's own counts differ with and without JIT
  pcre2_set_depth_limit(compiled_->limits, none);
  pcre2_set_heap_limit(compiled_->limits, kHeapLimitKib);
  (void)pcre2_jit_compile(compiled_->code,
                          PCRE2_JIT_COMPLETE);  // if JIT is unavailable, patterns are interpreted
}

Finder::Expression::~Expression() = default;

void Finder::Expression::find(std::string_view text, Range within, std::vector<Found>& found) const {
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits(
      pcre2_match_context_copy(compiled_->limits), pcre2_match_context_free);
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  if (!limits || !data) throw std::bad_alloc();
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + within.begin);
  const std::size_t size = within.size();
  Budget budget{pattern_, kSteps + kStepsPerByte * size};
  pcre2_set_callout(limits.get(), take_step, &budget);
  const auto search = [&](std::size_t from) {
    const Budget before = budget;
    budget.place = from;
    const int result =
        pcre2_match(compiled_->code, subject, size, from, PCRE2_NO_UTF_CHECK, data.get(), limits.get());
    if (result != PCRE2_ERROR_JIT_STACKLIMIT) return result;
    budget = before;  // too deep for JIT: interpreted, as on machines without JIT
    return pcre2_match(compiled_->code, subject, size, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(),
                       limits.get());
  };
  std::size_t previous = 0;  // end of the last match
  const auto add = [&](std::size_t begin, std::size_t end, bool match) {
    found.push_back(
        {{within.begin + static_cast<std::uint32_t>(begin), within.begin + static_cast<std::uint32_t>(end)},
         match});
  };
  for (std::size_t at = 0; at <= size;) {
    const int result = search(at);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) refuse_expression(pattern_, "needs more steps than allowed on this text");
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    const std::size_t begin = ends[0], end = std::max(ends[0], ends[1]);
    if (begin < previous)
      refuse_expression(pattern_, "has a match that overlaps the previous one (look-behind)");
    if (begin > previous) add(previous, begin, false);
    add(begin, end, true);
    previous = end;
    at = end;
    if (begin == end) {  // an empty match: the search continues after the next character
      if (end >= size) break;
      at = end + length_from(text[within.begin + end]);
    }
  }
  if (previous < size) add(previous, size, false);
}

}  // namespace headlight::text
