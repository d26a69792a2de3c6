// Tensors by name, wherever they are stored: in a folder's .safetensors files or in a .gguf file. Callers
// load tensors as floats, or use the stored bytes directly.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/folder.h"
#include "io/gguf.h"
#include "io/safetensors.h"

namespace headlight::models {

// A tensor as stored in its file.
struct StoredTensor {
  std::string_view name;
  std::string_view type;  // "F32", "F16", "BF16", "Q8_0", …: the names of .safetensors and io/gguf_blocks.h
  std::vector<Index> shape;
  std::uint64_t size = 0;  // in bytes
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Names for messages: of all files, and of the source of the expected sizes.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::string_view config_name() const = 0;

  // In the order of the files. Names live as long as this object.
  [[nodiscard]] virtual std::vector<StoredTensor> tensors() const = 0;
  [[nodiscard]] virtual std::optional<StoredTensor> find(std::string_view name) const = 0;
  // The stored bytes: mapped, not copied, of any alignment; valid as long as this object. The
  // tensor must exist.
  [[nodiscard]] virtual std::span<const std::byte> bytes(std::string_view name) const = 0;
  // The owner of those bytes, for users that outlive this object.
  [[nodiscard]] virtual std::shared_ptr<const void> owner(std::string_view name) const = 0;
  // Some of them, copied.
  virtual void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const = 0;
  // As floats, into memory for as many elements. Throws Error{input} for types that cannot be converted.
  virtual void load(std::string_view name, TensorView to) const = 0;

  [[nodiscard]] double elements() const;  // of all tensors
};

// A folder's model.safetensors, or its model.safetensors.index.json with the shards; or one file.
class SafetensorsWeights : public WeightSource {
 public:
  // Throws Error that names the file: `file` when the folder has no weights, `input` for the rest.
  explicit SafetensorsWeights(const io::Folder& folder);
  explicit SafetensorsWeights(io::Safetensors file);
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::string_view config_name() const override { return "config.json"; }
  [[nodiscard]] std::vector<StoredTensor> tensors() const override;
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const override;
  [[nodiscard]] std::span<const std::byte> bytes(std::string_view name) const override;
  [[nodiscard]] std::shared_ptr<const void> owner(std::string_view name) const override;
  void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const override;
  void load(std::string_view name, TensorView to) const override;

  [[nodiscard]] std::span<const io::Safetensors> files() const { return files_; }
  [[nodiscard]] std::span<const std::string> notices() const { return notices_; }

 private:
  struct Place {
    const io::Safetensors* file = nullptr;
    const io::SafetensorsEntry* entry = nullptr;
  };
  [[nodiscard]] Place place(std::string_view name) const;
  [[nodiscard]] Place present(std::string_view name) const;
  void open_shards(const io::Folder& folder);

  std::string name_;
  std::vector<io::Safetensors> files_;
  std::vector<std::string> notices_;
};

class GgufWeights : public WeightSource {
 public:
  explicit GgufWeights(const io::Gguf& file) : file_(file) {}  // must outlive this
  [[nodiscard]] const std::string& name() const override { return file_.name(); }
  [[nodiscard]] std::string_view config_name() const override { return "its metadata"; }
  [[nodiscard]] std::vector<StoredTensor> tensors() const override;
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const override;
  [[nodiscard]] std::span<const std::byte> bytes(std::string_view name) const override;
  [[nodiscard]] std::shared_ptr<const void> owner(std::string_view name) const override;
  void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const override;
  void load(std::string_view name, TensorView to) const override;

 private:
  const io::Gguf& file_;
};

}  // namespace headlight::models
