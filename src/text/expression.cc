#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/expression.h"

#include <pcre2.h>

#include <algorithm>
#include <ctime>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::text {
namespace {

// One call may take this many steps before it is given up: enough for any sane pattern, and in proportion
// to the text, so that many small words cannot take longer than a large one.
constexpr std::uint32_t kDepthLimit = 20'000, kHeapLimitKib = 16'384;
std::uint32_t match_limit(std::size_t size) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(2000 + 100 * size, 5'000'000));
}
// A pattern that looks far ahead from every place would take time with the square of the text. So there is
// a limit on the processor's time, some ten times what a sane pattern takes, and the clock is read often:
// after attempts that cannot have looked at more than about this many bytes together.
constexpr std::size_t kBetweenClocks = std::size_t{1} << 24;
constexpr double kSeconds = 0.25, kSecondsPerByte = 5e-7;
constexpr std::size_t kLongestPattern = 20'000;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void refuse(std::string_view pattern, std::string_view what) {
  throw Error(ErrorKind::input, "tokenizer.pattern",
              concat("the pattern \"", escaped(pattern, 120), "\" ", what));
}

// Tokenizer files are written for Oniguruma. Where PCRE2 reads the same characters differently, it is
// better to refuse than to split differently: \h (a hex digit there, a space here) and classes with &&.
void check_dialect(const std::string& pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] == 'h' || pattern[i + 1] == 'H')
        refuse(pattern, "uses \\h, which is not supported. Write [0-9a-fA-F].");
      ++i;
    } else if (pattern[i] == '[') {
      in_class = true;
    } else if (pattern[i] == ']') {
      in_class = false;
    } else if (in_class && pattern.compare(i, 2, "&&") == 0) {
      refuse(pattern, "uses && within [ ], which is not supported");
    }
  }
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
  if (pattern.size() > kLongestPattern) refuse(pattern, "is too long");
  check_dialect(pattern);
  // MULTILINE: ^ and $ stand at line breaks, as Oniguruma has it. No \C: it would cut characters.
  constexpr std::uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
  int problem = 0;
  PCRE2_SIZE where = 0;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                                  &problem, &where, nullptr);
  if (compiled_->code == nullptr) {
    PCRE2_UCHAR message[128] = {};
    pcre2_get_error_message(problem, message, sizeof message);
    refuse(pattern,
           concat("does not compile: ", reinterpret_cast<const char*>(message), " (at byte ", where, ")"));
  }
  compiled_->limits = pcre2_match_context_create(nullptr);
  if (compiled_->limits == nullptr) throw std::bad_alloc();
  pcre2_set_depth_limit(compiled_->limits, kDepthLimit);
  pcre2_set_heap_limit(compiled_->limits, kHeapLimitKib);
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
  pcre2_set_match_limit(limits.get(), match_limit(size));
  const double deadline = cpu_seconds() + kSeconds + kSecondsPerByte * static_cast<double>(size);
  const std::size_t stride = std::clamp<std::size_t>(kBetweenClocks / (size + 1), 1, 256);
  std::size_t previous = 0;  // the end of the last match
  const auto add = [&](std::size_t begin, std::size_t end, bool match) {
    found.push_back(
        {{within.begin + static_cast<std::uint32_t>(begin), within.begin + static_cast<std::uint32_t>(end)},
         match});
  };
  for (std::size_t at = 0, tries = 0; at <= size; ++tries) {
    if (tries % stride == stride - 1 && cpu_seconds() > deadline)
      refuse(pattern_, "takes too long on this text");
    const std::size_t stop = std::min(size, at + stride);
    pcre2_set_offset_limit(limits.get(), stop);
    const int result =
        pcre2_match(compiled_->code, subject, size, at, PCRE2_NO_UTF_CHECK, data.get(), limits.get());
    if (result == PCRE2_ERROR_NOMATCH) {
      tries = stride - 2;  // the clock is read next
      at = stop + 1;
      while (at < size && is_continuation(text[within.begin + at])) ++at;
      continue;
    }
    if (result < 0) refuse(pattern_, "needs more steps than allowed on this text");
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    const std::size_t begin = ends[0], end = std::max(ends[0], ends[1]);
    if (begin < previous) refuse(pattern_, "looks back into the match before it");
    if (begin > previous) add(previous, begin, false);
    add(begin, end, true);
    previous = end;
    at = end;
    if (begin == end) {  // an empty match: the search goes on behind the next character
      if (end >= size) break;
      at = end + length_from(text[within.begin + end]);
    }
  }
  if (previous < size) add(previous, size, false);
}

}  // namespace headlight::text
