// Tensors by name in an untrusted .safetensors file: the header is read into private memory and checked
// completely (unique names, ranges that fill the file exactly) before any data is used. Data is
// never executed, names are never used as paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"
#include "io/outputs.h"
#include "io/safetensors_header.h"

namespace headlight::io {

class File;
class Source;

class Safetensors {
 public:
  using Entry = SafetensorsEntry;

  // Throws Error: file for file system errors, input "FILE: WHAT (WHERE)" for invalid files.
  [[nodiscard]] static Safetensors open(const std::string& path);
  [[nodiscard]] static Safetensors open(std::unique_ptr<const File> file);
  // The same from memory; `name` is used in messages.
  [[nodiscard]] static Safetensors parse(std::vector<std::byte> bytes, const std::string& name);

  Safetensors(Safetensors&&) noexcept;
  Safetensors& operator=(Safetensors&&) noexcept;
  ~Safetensors();

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] std::span<const Entry> entries() const noexcept;          // in the order of the file
  [[nodiscard]] const Entry* find(std::string_view name) const noexcept;  // null when absent
  [[nodiscard]] const Entry& at(
      std::string_view name) const;  // throws Error{input} that names the nearest one
  [[nodiscard]] const Metadata& metadata() const noexcept;
  [[nodiscard]] const std::string* metadata(std::string_view key) const noexcept;

  // A copy in memory. Floats become any float type, whole numbers any wide enough integer type, BOOL
  // becomes boolean (any byte but 0 is true); a scalar becomes [1]. Everything else is Error{input}.
  [[nodiscard]] Tensor load(const Entry& entry, DType as) const;
  // The same into existing contiguous memory with the same number of elements.
  void load(const Entry& entry, TensorView to) const;
  // A section of the stored data, copied; the range must be inside the entry.
  void read(const Entry& entry, std::uint64_t offset, std::span<std::byte> to) const;
  // The stored data: mapped, not copied, of any alignment. Valid as long as this object.
  // Throws Error{file} if the file has become shorter.
  [[nodiscard]] std::span<const std::byte> bytes(const Entry& entry) const;
  // The owner of those bytes, for users that outlive this object.
  [[nodiscard]] std::shared_ptr<const void> owner() const noexcept { return source_; }

 private:
  explicit Safetensors(std::unique_ptr<Source> source);

  std::shared_ptr<Source> source_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
  std::vector<std::uint32_t> by_name_;
};

struct NamedTensor {
  std::string name;
  ConstTensorView tensor;  // contiguous
};

// Writes a whole file to a reserved output. The data starts at a multiple of 64 bytes.
void write_safetensors(Outputs& outputs, const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});
// The bytes before the data: eight bytes of length, then the header.
[[nodiscard]] std::string safetensors_header(std::span<const NamedTensor> tensors, const Metadata& metadata);
[[nodiscard]] std::string safetensors_header(std::span<const SafetensorsEntry> entries,
                                             const Metadata& metadata);

}  // namespace headlight::io
