// An untrusted GGUF file (versions 2 and 3): named values, then tensors in blocks. The header is read into
// private memory and checked completely (counts against bytes, unique names, aligned ranges inside the file)
// before any data is used. Callers interpret the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"
#include "io/gguf_blocks.h"

namespace headlight::io {

class File;
class Source;

// All in bytes.
inline constexpr std::uint64_t kMaxGgufHeader = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxGgufKey = 65535;
inline constexpr std::uint64_t kMaxGgufTensorName = 1024;
inline constexpr std::uint64_t kMaxGgufAlignment = 65536;

enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };
[[nodiscard]] std::string_view name_of(GgufType type) noexcept;  // "u32"

// A named value in its encoded form.
struct GgufValue {
  std::string_view key;
  GgufType type = GgufType::u8;
  GgufType item = GgufType::u8;      // of a list
  std::uint64_t count = 1;           // of a list
  std::span<const std::byte> bytes;  // a text without its length; the texts of a list with theirs
};

struct GgufTensor {
  std::string_view name;
  const BlockType* type = nullptr;  // for an unknown one the name is "type 77" and loads() is false
  Shape shape;                      // outermost axis first, as everywhere in Headlight; a scalar has none
  std::uint64_t elements = 0;
  std::uint64_t begin = 0, bytes = 0;  // in the data section
  std::uint32_t part = 0;              // of the files of a split model; 0 is the first
};

class Gguf {
 public:
  // Throws Error: file for file system errors, input "FILE: WHAT (WHERE)" for invalid files.
  // The first of several files of a split model (NAME-00001-of-00003.gguf) opens them all, as one.
  [[nodiscard]] static Gguf open(const std::string& path);
  // One file by itself.
  [[nodiscard]] static Gguf open(std::unique_ptr<const File> file);
  // The same from memory; `name` is used in messages.
  [[nodiscard]] static Gguf parse(std::vector<std::byte> bytes, const std::string& name);

  Gguf(Gguf&&) noexcept;
  Gguf& operator=(Gguf&&) noexcept;
  ~Gguf();

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  [[nodiscard]] std::uint64_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  [[nodiscard]] std::size_t files() const noexcept { return 1 + parts_.size(); }

  // In the order of the file, and of further files after it; find: null when absent.
  [[nodiscard]] std::span<const GgufValue> values() const noexcept { return values_; }
  [[nodiscard]] std::span<const GgufTensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] const GgufValue* find_value(std::string_view key) const noexcept;
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const noexcept;

  // Values by key: empty if absent, Error{input} if of another type. Any integer type is accepted for an
  // integer, any number for a real one, and a boolean only for a boolean.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> real(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<float>> reals(std::string_view key) const;

  // The data as stored in the file: mapped, not copied. Valid as long as this object. Throws Error{file} if the file has
  // become shorter.
  [[nodiscard]] std::span<const std::byte> bytes(const GgufTensor& tensor) const;
  // The owner of those bytes, for users that outlive this object.
  [[nodiscard]] std::shared_ptr<const void> owner(const GgufTensor& tensor) const noexcept;
  // A section of it, copied; the range must be inside the tensor.
  void read(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> to) const;
  // Elements [first, first + count) as floats, both multiples of the block's: read, not mapped, so that a
  // file that shrinks is an error and not a bus error. Throws Error{input} for types that are not supported.
  void load(const GgufTensor& tensor, std::uint64_t first, std::span<float> to) const;
  // The whole tensor. A scalar becomes [1].
  [[nodiscard]] Tensor load(const GgufTensor& tensor) const;

 private:
  friend class GgufParser;  // src/io/gguf_parser.cc
  explicit Gguf(std::unique_ptr<Source> source);
  void join_parts();  // src/io/gguf_split.cc
  // The file that contains the tensor.
  [[nodiscard]] const Gguf& holder(const GgufTensor& tensor) const noexcept {
    return tensor.part == 0 ? *this : parts_[tensor.part - 1];
  }
  [[noreturn]] void refuse_kind(const GgufValue& value, std::string_view wanted) const;

  // Names of type numbers that find_block_type() does not know.
  struct UnknownType {
    std::string name;
    BlockType type;
  };

  std::shared_ptr<Source> source_;
  std::list<UnknownType> unknown_;  // does not move, even when this object does
  std::vector<std::byte> header_;   // memory of names and values
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32, data_begin_ = 0;
  std::vector<GgufValue> values_;
  std::vector<GgufTensor> tensors_;
  std::vector<std::uint32_t> values_by_key_, tensors_by_name_;
  std::vector<Gguf> parts_;  // further files of a split model
};

}  // namespace headlight::io
