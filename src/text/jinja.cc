// Templates: their functions, and the limits of a run.
#include "text/jinja.h"

#include <array>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/jinja_interpreter.h"
#include "text/unicode.h"

namespace headlight::text::jinja {
namespace {

constexpr std::size_t kLongestTemplate = 1 << 20;
constexpr std::int64_t kLongestRange = 100'000;

}  // namespace

void Interpreter::add_functions() {
  Object& globals = frames_.front();
  globals.set("raise_exception", Function([](const Arguments& with) -> Value {
                const Value* message = with.find(0, "message");
                throw Error(ErrorKind::input, "chat.messages",
                            concat("the chat template refuses these messages: ",
                                   escaped(message != nullptr ? message->printed() : "", 500)));
              }));
  globals.set("namespace", Function([this](const Arguments& with) -> Value {
                auto space = std::make_shared<Object>();
                space->changes = true;
                for (const Value& from : with.places)
                  if (const Object* object = from.object()) space->entries = object->entries;
                for (const auto& [key, value] : with.names) space->set(key, value);
                spaces_.push_back(space);
                return space;
              }));
  globals.set("dict", Function([](const Arguments& with) -> Value { return Object{.entries = with.names}; }));
  globals.set("range", Function([this](const Arguments& with) { return range(with); }));
  globals.set("strftime_now", Function([this](const Arguments& with) -> Value {
                std::array<char, 256> text{};
                const std::string& form = text_argument(meter_, with, 0, "format");
                const std::size_t size = std::strftime(text.data(), text.size(), form.c_str(), &now_);
                return to_well_formed({text.data(), size});
              }));
}

Value Interpreter::range(const Arguments& with) {
  std::int64_t first = 0, last = integer_or(meter_, with, 0, "stop", 0);
  const std::int64_t step = integer_or(meter_, with, 2, "step", 1);
  if (with.places.size() > 1) {
    first = last;
    last = integer_or(meter_, with, 1, "stop", 0);
  }
  if (step == 0) meter_.refuse("range() with a step of 0");
  List out;
  for (std::int64_t i = first; step > 0 ? i < last : i > last;) {
    if (static_cast<std::int64_t>(out.size()) >= kLongestRange)
      meter_.refuse(concat("range() of more than ", kLongestRange, " numbers"));
    out.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  meter_.charge(out.size());
  return out;
}

void Meter::charge(std::uint64_t steps) {
  if (steps > left_) refuse("needs more steps than a chat template may take");
  left_ -= steps;
}

void Meter::refuse(std::string_view what) const { refuse_template(name_, line_, what); }

Template::Template(std::string_view source, std::string name) : name_(std::move(name)) {
  if (source.size() > kLongestTemplate) refuse_template(name_, 1, "is longer than a chat template can be");
  root_ = parse(read_tokens(to_well_formed(source), name_), name_);
}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::string Template::render(const Object& variables, const std::tm& now, const Limits& limits) const {
  std::uint64_t size = 0;
  for (const auto& [key, value] : variables.entries) size += value.extent().size;
  return Interpreter(name_, variables, now, limits, limits.steps + 800 * size).run(*root_);
}

}  // namespace headlight::text::jinja
