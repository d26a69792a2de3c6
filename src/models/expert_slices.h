// Files that have all experts of a layer in one tensor, [expert, rows, columns]: this source returns them one by one, as
// NAME[0], NAME[1] and so on, in place in the mapped file. GPT-OSS stores matrices in 4 bits, NAME_blocks with
// NAME_scales; those are converted to bf16, which represents each of their numbers exactly.
#pragma once

#include <deque>
#include <map>

#include "models/weights.h"

namespace headlight::models {

class ExpertSlices : public WeightSource {
 public:
  explicit ExpertSlices(const WeightSource& from);  // must outlive this
  // Whether any tensor holds several experts.
  [[nodiscard]] static bool wanted(const WeightSource& from);

  [[nodiscard]] const std::string& name() const override { return from_.name(); }
  [[nodiscard]] std::string_view config_name() const override { return from_.config_name(); }
  [[nodiscard]] std::vector<StoredTensor> tensors() const override;
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const override;
  [[nodiscard]] std::span<const std::byte> bytes(std::string_view name) const override;
  [[nodiscard]] std::shared_ptr<const void> owner(std::string_view name) const override;
  void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const override;
  void load(std::string_view name, TensorView to) const override;

 private:
  using Bytes = std::vector<std::byte>;
  struct Slice {
    std::string whole;   // the tensor that it is a part of
    std::string scales;  // of 4-bit blocks; empty: none
    Index expert = 0, experts = 0;
    StoredTensor tensor;  // what it is; its name is this slice's key
  };
  void add(const StoredTensor& whole, const std::string& base, std::vector<Index> shape,
           const std::string& scales);
  [[nodiscard]] const Slice* slice(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const Bytes> unpacked(const Slice& slice) const;

  const WeightSource& from_;
  std::map<std::string, Slice, std::less<>> slices_;
  std::vector<std::string> cut_;  // the tensors that are sliced
  mutable std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> unpacked_;
  mutable std::deque<std::pair<std::string, Tensor>>
      loaded_;  // the last few tensors that were converted to floats
};

}  // namespace headlight::models
