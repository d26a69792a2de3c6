// Models in several GGUF files: NAME-00001-of-00003.gguf and so on. The first has the metadata, every file states
// its number and the number of files, and each tensor is in one of them. All must agree before any is used.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/folder.h"
#include "io/gguf.h"
#include "io/gguf_parser.h"

namespace headlight::io {
namespace {

constexpr std::string_view kNumber = "split.no", kCount = "split.count", kTensors = "split.tensors.count";
constexpr std::int64_t kMostParts = 65535;  // the keys are of 16 bits

[[noreturn]] void refuse_split(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::input, "gguf.split", concat(escaped(file), ": ", what));
}

// "-00002-of-00003.gguf"; parts are counted from 0 in the keys and from 1 in the names.
std::string ending(std::int64_t part, std::int64_t count) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "-%05lld-of-%05lld.gguf", static_cast<long long>(part + 1),
                      static_cast<long long>(count));
  return text.data();
}

std::int64_t required(const Gguf& file, std::string_view key) {
  const auto found = file.integer(key);
  if (!found) refuse_split(file.name(), concat("is part of a split model and lacks ", key));
  return *found;
}

// The number of files and tensors, from the first file.
struct Plan {
  std::int64_t count = 0, tensors = 0;
  std::string folder, stem;  // of the names
};

Plan plan_of(const Gguf& first) {
  const std::filesystem::path path(first.name());
  Plan plan{required(first, kCount),
            required(first, kTensors),
            path.has_parent_path() ? path.parent_path().string() : std::string("."),
            {}};
  if (plan.count > kMostParts)
    refuse_split(first.name(), concat("is one of ", plan.count, " files; the limit is ", kMostParts));
  const std::string name = path.filename().string();
  const std::int64_t number = required(first, kNumber);
  if (number != 0) {
    const std::string own = ending(number, plan.count);
    const std::string start =
        name.ends_with(own) ? concat(name.substr(0, name.size() - own.size()), ending(0, plan.count)) : "";
    refuse_split(first.name(),
                 concat("is file ", number + 1, " of ", plan.count, " of a model; open the first",
                        start.empty() ? "" : ", ", escaped(start, 100)));
  }
  const std::string own = ending(0, plan.count);
  if (!name.ends_with(own))
    refuse_split(first.name(), concat("is the first of ", plan.count, " files; its name must end with ", own,
                                      ", so that the others can be found"));
  plan.stem = name.substr(0, name.size() - own.size());
  return plan;
}

std::unique_ptr<const File> open_part(const Folder& folder, const Gguf& first, const Plan& plan,
                                      std::int64_t part) {
  const std::string name = plan.stem + ending(part, plan.count);
  if (!folder.has(name))
    refuse_split(first.name(),
                 concat("file ", part + 1, " of ", plan.count, " is missing: ", escaped(name, 100)));
  return folder.open(name, ErrorKind::input);
}

void check_part(const Gguf& first, const Gguf& part, const Plan& plan, std::int64_t number) {
  const std::array<std::pair<std::string_view, std::int64_t>, 3> expected = {
      {{kNumber, number}, {kCount, plan.count}, {kTensors, plan.tensors}}};
  for (const auto& [key, wanted] : expected)
    if (const std::int64_t found = required(part, key); found != wanted)
      refuse_split(part.name(), concat(key, " is ", found, "; beside ", escaped(first.name(), 100),
                                       " it must be ", wanted));
  // Metadata belong to the first file; if repeated, they must be equal.
  for (const GgufValue& value : part.values()) {
    if (value.key.starts_with("split.") || value.key == "general.alignment") continue;
    const GgufValue* same = first.find_value(value.key);
    if (same == nullptr || same->type != value.type || same->item != value.item ||
        !std::equal(same->bytes.begin(), same->bytes.end(), value.bytes.begin(), value.bytes.end()))
      refuse_split(part.name(), concat("value \"", escaped(value.key, 80), "\" is not that of ",
                                       escaped(first.name(), 100)));
  }
}

}  // namespace

void Gguf::join_parts() {
  if (integer(kCount).value_or(1) <= 1) return;
  const Plan plan = plan_of(*this);
  const Folder folder(plan.folder);
  for (std::int64_t number = 1; number < plan.count; ++number) {
    parts_.push_back(open(open_part(folder, *this, plan, number)));
    check_part(*this, parts_.back(), plan, number);
    for (GgufTensor tensor : parts_.back().tensors_) {
      tensor.part = static_cast<std::uint32_t>(number);
      tensors_.push_back(tensor);
    }
  }
  if (std::cmp_not_equal(tensors_.size(), plan.tensors))
    refuse_split(name(), concat("its ", plan.count, " files have ", tensors_.size(), " tensors together; ",
                                kTensors, " is ", plan.tensors));
  tensors_by_name_ = sorted_by(tensors_, [](const GgufTensor& t) { return t.name; });
  for (std::size_t i = 1; i < tensors_by_name_.size(); ++i) {
    const GgufTensor &a = tensors_[tensors_by_name_[i - 1]], &b = tensors_[tensors_by_name_[i]];
    if (a.name == b.name)
      refuse_split(name(), concat("tensor \"", escaped(a.name, 80), "\" is in ",
                                  escaped(holder(a).name(), 80), " and in ", escaped(holder(b).name(), 80)));
  }
}

}  // namespace headlight::io
