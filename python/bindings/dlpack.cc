// DLPack: arrays of other libraries, by their memory. The structures are those of its specification, version 0.
#include <algorithm>
#include <array>
#include <memory>

#include "bindings/arrays.h"
#include "core/concat.h"

namespace headlight::python {
namespace {

struct DlDevice {
  std::int32_t type, number;
};
struct DlType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* manager;
  void (*deleter)(DlManagedTensor*);
};

enum DlCode : std::uint8_t { kInt = 0, kFloat = 2, kBfloat = 4, kBool = 6 };
constexpr std::int32_t kCpu = 1;
constexpr const char* kFresh = "dltensor";

std::optional<DType> dtype_of(const DlType& type) {
  if (type.lanes != 1) return std::nullopt;
  const int key = type.code * 256 + type.bits;
  switch (key) {
    case kFloat * 256 + 32: return DType::f32;
    case kFloat * 256 + 64: return DType::f64;
    case kFloat * 256 + 16: return DType::f16;
    case kBfloat * 256 + 16: return DType::bf16;
    case kInt * 256 + 32: return DType::i32;
    case kInt * 256 + 64: return DType::i64;
    case kBool * 256 + 8: return DType::boolean;
    default: return std::nullopt;
  }
}

DlType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::bf16: return {kBfloat, bits, 1};
    case DType::i32:
    case DType::i64: return {kInt, bits, 1};
    case DType::boolean: return {kBool, bits, 1};
    default: return {kFloat, bits, 1};
  }
}

[[noreturn]] void refuse(const char* name, const std::string& found) {
  throw Error(ErrorKind::input, "python.dlpack", concat(name, ": ", found));
}

ConstTensorView view_of(const DlTensor& t, const char* name) {
  const std::optional<DType> dtype = dtype_of(t.dtype);
  if (!dtype)
    refuse(name,
           concat("its __dlpack__ has elements of type ", static_cast<int>(t.dtype.code), " with ",
                  static_cast<int>(t.dtype.bits), " bits; need floats of 16, 32 or 64 bits, bf16 or bool"));
  if (t.device.type != kCpu)
    refuse(name,
           concat("its memory is on device type ", t.device.type, "; need the CPU (move it there first)"));
  if (t.rank < 1 || t.rank > kMaxRank || t.shape == nullptr)
    refuse(name, concat("its __dlpack__ has ", t.rank, " axes; need 1 to ", kMaxRank));
  Shape shape, strides;
  shape.rank = strides.rank = t.rank;
  Index below = 1;
  for (int axis = t.rank - 1; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    shape.dims[at] = t.shape[axis];
    if (shape.dims[at] < 0) refuse(name, "its __dlpack__ has an axis of negative size");
    strides.dims[at] = t.strides == nullptr ? below : t.strides[axis];
    if (axis == t.rank - 1 && shape.dims[at] <= 1) strides.dims[at] = 1;
    if (__builtin_mul_overflow(below, shape.dims[at], &below))
      refuse(name, "its __dlpack__ is larger than memory");
  }
  if (t.data == nullptr && below != 0) refuse(name, "its __dlpack__ has no memory");
  return {static_cast<const std::byte*>(t.data) + t.byte_offset, *dtype, shape, strides};
}

// The memory of a result, until the other library takes it.
class DlpackBuffer {
 public:
  DlpackBuffer(Tensor tensor, int drop) : tensor_(std::make_shared<Tensor>(std::move(tensor))), drop_(drop) {}

  [[nodiscard]] Object capsule() const {
    auto owned = std::make_unique<Owned>();
    owned->tensor = tensor_;
    const int rank = tensor_->rank() - drop_;
    Index below = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto at = static_cast<std::size_t>(axis);
      owned->shape[at] = tensor_->dim(axis + drop_);
      owned->strides[at] = below;
      below *= std::max<Index>(owned->shape[at], 1);
    }
    owned->managed.tensor = {
        tensor_->view().data(), {kCpu, 0}, rank, type_of(tensor_->dtype()), owned->shape.data(),
        owned->strides.data(),  0};
    owned->managed.manager = owned.get();
    owned->managed.deleter = [](DlManagedTensor* managed) { delete static_cast<Owned*>(managed->manager); };
    DlManagedTensor* managed = &owned.release()->managed;
    return make_capsule(managed, kFresh, [](PyObject* capsule) {
      if (PyCapsule_IsValid(capsule, kFresh) == 0) return;  // it was taken
      auto* unused = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, kFresh));
      unused->deleter(unused);
    });
  }

 private:
  struct Owned {
    DlManagedTensor managed;
    std::shared_ptr<Tensor> tensor;
    std::array<std::int64_t, kMaxRank> shape, strides;
  };
  std::shared_ptr<Tensor> tensor_;
  int drop_;
};

}  // namespace

DlpackView import_dlpack(Handle object, const char* name) {
  // The capsule owns the memory: if no consumer takes it, its destructor frees it.
  Object capsule = object.attr("__dlpack__")();
  if (PyCapsule_IsValid(capsule.ptr(), kFresh) == 0)
    refuse(name,
           concat("its __dlpack__ returned ", repr_of(capsule), "; need a capsule named \"", kFresh, "\""));
  const auto* managed = static_cast<const DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kFresh));
  ConstTensorView view = view_of(managed->tensor, name);
  return {view, std::move(capsule)};
}

Object export_dlpack(Tensor tensor, int drop) { return to_python(DlpackBuffer(std::move(tensor), drop)); }

void define_dlpack(const Module& module) {
  Class<DlpackBuffer>("DlpackBuffer")
      .def<&DlpackBuffer::capsule>("__dlpack__", AnyKeyword())
      .def("__dlpack_device__", [](const DlpackBuffer&) { return tuple_of(kCpu, 0); })
      .add_to(module);
}

}  // namespace headlight::python
