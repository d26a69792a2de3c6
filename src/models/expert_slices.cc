#include "models/expert_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
constexpr Index kPerBlock = 32;
constexpr Index kMostExperts = 4096;
constexpr std::size_t kLoadedKept = 6;  // gate, up and down with their biases

// Of an expert: "mlp.experts.gate_up_proj", "ffn_gate_exps.weight", "experts.down_proj_bias".
bool is_of_experts(std::string_view name) {
  return name.find(".experts.") != std::string_view::npos || name.find("_exps.") != std::string_view::npos;
}
bool is_whole(const StoredTensor& tensor) {
  const bool rank = tensor.shape.size() == 3 || (tensor.shape.size() == 2 && tensor.name.ends_with("bias")) ||
                    (tensor.shape.size() == 4 && tensor.name.ends_with(kBlocks));
  return rank && is_of_experts(tensor.name) && tensor.shape[0] > 0 && tensor.shape[0] <= kMostExperts;
}

// The 16 values of a four-bit code, times 2; the sign is the highest bit.
constexpr std::int8_t kTwice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The upper half of a float32.
std::uint16_t bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

}  // namespace

bool ExpertSlices::wanted(const WeightSource& from) {
  const std::vector<StoredTensor> all = from.tensors();
  return std::any_of(all.begin(), all.end(), is_whole);
}

ExpertSlices::ExpertSlices(const WeightSource& from) : from_(from) {
  for (const StoredTensor& tensor : from.tensors()) {
    if (!is_whole(tensor)) continue;
    const std::string name(tensor.name);
    if (!name.ends_with(kBlocks)) {
      if (name.ends_with(kScales) &&
          from.find(name.substr(0, name.size() - kScales.size()) + std::string(kBlocks)))
        continue;
      add(tensor, name, {tensor.shape.begin() + 1, tensor.shape.end()}, "");
      continue;
    }
    const std::string base = name.substr(0, name.size() - kBlocks.size()),
                      scales = base + std::string(kScales);
    const std::optional<StoredTensor> found = from.find(scales);
    const bool good =
        found && tensor.type == "U8" && found->type == "U8" && tensor.shape[3] == kPerBlock / 2 &&
        std::equal(found->shape.begin(), found->shape.end(), tensor.shape.begin(), tensor.shape.end() - 1);
    if (!good)
      throw Error(
          ErrorKind::input, "model.scale",
          fmt::format("{}: \"{}\" is {} [{}] and needs \"{}\", U8 of the same shape without the last axis",
                      escaped(from.name()), escaped(name, 80), tensor.type, fmt::join(tensor.shape, ", "),
                      escaped(scales, 80)));
    add(tensor, base, {tensor.shape[1], tensor.shape[2] * kPerBlock}, scales);
    cut_.push_back(scales);
  }
}

void ExpertSlices::add(const StoredTensor& whole, const std::string& base, std::vector<Index> shape,
                       const std::string& scales) {
  for (Index e = 0; e < whole.shape[0]; ++e) {
    Slice slice{std::string(whole.name), scales, e, whole.shape[0], whole};
    slice.tensor.shape = shape;
    if (!scales.empty()) slice.tensor.type = "BF16";
    const auto [at, fresh] = slices_.emplace(fmt::format("{}[{}]", base, e), std::move(slice));
    if (fresh) at->second.tensor.name = at->first;
  }
  cut_.emplace_back(whole.name);
}

const ExpertSlices::Slice* ExpertSlices::slice(std::string_view name) const {
  const auto found = slices_.find(name);
  return found == slices_.end() ? nullptr : &found->second;
}

std::vector<StoredTensor> ExpertSlices::tensors() const {
  std::vector<StoredTensor> list;
  for (const StoredTensor& tensor : from_.tensors())
    if (std::find(cut_.begin(), cut_.end(), tensor.name) == cut_.end()) list.push_back(tensor);
  for (const auto& [name, slice] : slices_) list.push_back(slice.tensor);
  return list;
}

std::optional<StoredTensor> ExpertSlices::find(std::string_view name) const {
  if (const Slice* part = slice(name)) return part->tensor;
  if (std::find(cut_.begin(), cut_.end(), name) != cut_.end()) return std::nullopt;
  return from_.find(name);
}

std::shared_ptr<const ExpertSlices::Bytes> ExpertSlices::unpacked(const Slice& part) const {
  const std::string name(part.tensor.name);
  if (const auto found = unpacked_.find(name); found != unpacked_.end()) return found->second;
  const std::span<const std::byte> blocks = from_.bytes(part.whole), scales = from_.bytes(part.scales);
  const std::size_t each = scales.size() / static_cast<std::size_t>(part.experts);
  const std::size_t first = each * static_cast<std::size_t>(part.expert);
  auto out = std::make_shared<Bytes>(each * kPerBlock * sizeof(std::uint16_t));
  for (std::size_t b = 0; b < each; ++b) {
    const int exponent = std::to_integer<int>(scales[first + b]);
    if (exponent == 255)
      throw Error(
          ErrorKind::input, "model.scale",
          fmt::format("{}: \"{}\" has a scale that is not a number", escaped(from_.name()), part.scales));
    const float scale = std::ldexp(0.5F, exponent - 127);
    for (std::size_t i = 0; i < kPerBlock; ++i) {
      const int pair = std::to_integer<int>(blocks[(first + b) * kPerBlock / 2 + i / 2]);
      const int code = i % 2 == 0 ? pair & 15 : pair >> 4;
      const std::uint16_t value = bf16_of(static_cast<float>(kTwice[code]) * scale);
      std::memcpy(out->data() + (b * kPerBlock + i) * sizeof value, &value, sizeof value);
    }
  }
  return unpacked_.emplace(name, std::move(out)).first->second;
}

std::span<const std::byte> ExpertSlices::bytes(std::string_view name) const {
  const Slice* part = slice(name);
  if (part == nullptr) return from_.bytes(name);
  if (!part->scales.empty()) return *unpacked(*part);
  const std::span<const std::byte> all = from_.bytes(part->whole);
  const std::size_t each = all.size() / static_cast<std::size_t>(part->experts);
  return all.subspan(each * static_cast<std::size_t>(part->expert), each);
}

std::shared_ptr<const void> ExpertSlices::owner(std::string_view name) const {
  const Slice* part = slice(name);
  if (part == nullptr) return from_.owner(name);
  if (!part->scales.empty()) return unpacked(*part);
  return from_.owner(part->whole);
}

void ExpertSlices::read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const {
  if (slice(name) == nullptr) return from_.read(name, offset, to);
  const std::span<const std::byte> all = bytes(name);
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
}

void ExpertSlices::load(std::string_view name, TensorView to) const {
  const Slice* part = slice(name);
  if (part == nullptr) return from_.load(name, to);
  const auto count = static_cast<std::size_t>(to.shape().elements());
  if (!part->scales.empty()) {
    const std::shared_ptr<const Bytes> numbers = unpacked(*part);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, numbers->data() + i * sizeof half, sizeof half);
      const std::uint32_t bits = std::uint32_t{half} << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      if (to.dtype() == DType::f64) to.as<double>()[i] = static_cast<double>(value);
      else to.as<float>()[i] = value;
    }
    return;
  }
  auto found = std::find_if(loaded_.begin(), loaded_.end(), [&](const auto& entry) {
    return entry.first == part->whole && entry.second.dtype() == to.dtype();
  });
  if (found == loaded_.end()) {
    Tensor all = Tensor::uninitialized({static_cast<Index>(count) * part->experts}, to.dtype());
    const StoredTensor whole = *from_.find(part->whole);
    Shape shape = all.shape();
    shape.rank = static_cast<int>(whole.shape.size());
    std::copy(whole.shape.begin(), whole.shape.end(), shape.dims.begin());
    from_.load(part->whole, TensorView(all.view().data(), to.dtype(), shape));
    loaded_.emplace_back(part->whole, std::move(all));
    if (loaded_.size() > kLoadedKept) loaded_.pop_front();
    found = std::prev(loaded_.end());
  }
  const std::size_t bytes = count * size_of(to.dtype());
  std::memcpy(to.data(), found->second.as<std::byte>() + static_cast<std::size_t>(part->expert) * bytes,
              bytes);
}

}  // namespace headlight::models
