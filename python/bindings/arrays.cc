#include "bindings/arrays.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "core/concat.h"

namespace headlight::python {
namespace {

int number_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return kFloat;
    case DType::f64: return kDouble;
    case DType::f16: return kHalf;
    case DType::i32: return kInt;
    case DType::i64: return kLong;
    case DType::boolean: return kBool;
    case DType::bf16: break;
  }
  throw Error(ErrorKind::input, "python.dtype", "NumPy has no bf16; the package ml_dtypes adds it");
}

std::string text_of(const Object& text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw PythonError();
  return {bytes, static_cast<std::size_t>(size)};
}

Object text_object(Handle value) { return Object::taken(PyObject_Str(value.ptr())); }

std::optional<DType> dtype_of(const NumpyArray& array) {
  const int number = descriptor_of(array).number;
  switch (number) {
    case kFloat: return DType::f32;
    case kDouble: return DType::f64;
    case kHalf: return DType::f16;
    case kInt: return DType::i32;
    case kLong:
    case kLongLong: return DType::i64;
    case kBool: return DType::boolean;
    default: break;
  }
  // ml_dtypes.bfloat16, by the name that it registers.
  if (number >= kUser && text_of(Handle(array.descriptor).attr("name")) == "bfloat16") return DType::bf16;
  return std::nullopt;
}

[[noreturn]] void refuse_rank(const char* name, Index rank) {
  throw Error(ErrorKind::input, "python.rank",
              rank == 0 ? concat(name, " is a single number; need an array")
                        : concat(name, " has ", rank, " axes; need at most ", kMaxRank));
}

// Whether kernels can read it in place.
bool readable(const NumpyArray& a, Index item) {
  if ((a.flags & kNumpyAligned) == 0 || descriptor_of(a).byte_order == '>') return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.dimensions[axis] == 0) return true;
    if (a.strides[axis] % item != 0) return false;
  }
  return a.dimensions[a.rank - 1] <= 1 || a.strides[a.rank - 1] == item;
}

// A copy in C order and the machine's byte order.
Object readable_copy(Handle array) {
  Dict options;
  options["dtype"] = array.attr("dtype").attr("newbyteorder")("=");
  options["order"] = "C";
  options["copy"] = true;
  options["subok"] = false;
  return Object::taken(
      PyObject_Call(import("numpy").attr("array").ptr(), tuple_of(array).ptr(), options.ptr()));
}

ConstTensorView view_of(const Object& array, DType dtype) {
  const NumpyArray& a = array_of(array);
  Shape shape, strides;
  shape.rank = strides.rank = a.rank;
  bool none = false;
  for (int axis = 0; axis < a.rank; ++axis) none = none || a.dimensions[axis] == 0;
  const auto item = static_cast<Index>(size_of(dtype));
  for (int axis = 0; axis < a.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    shape.dims[at] = a.dimensions[axis];
    // Strides of axes with one element and of arrays without any are never used, and NumPy leaves arbitrary values there.
    strides.dims[at] = axis == a.rank - 1 && (none || a.dimensions[axis] == 1) ? 1 : a.strides[axis] / item;
  }
  return {a.data, dtype, shape, strides};
}

}  // namespace

// Tensors of booleans as NumPy's array over their memory: PyTorch 1 does not give them by DLPack. Empty for anything else.
static Object booleans_of(Handle given) {
  const std::string dtype = text_of(text_object(given.attr_or_none("dtype")));
  if (dtype != "torch.bool" || !given.has("numpy")) return {};
  return given.attr("numpy")();
}

ArrayArg::ArrayArg(Handle given, const char* name) : object(Object::borrowed(given)) {
  if (!numpy().is_array(given)) {
    if (PyObject_HasAttrString(given.ptr(), "__dlpack__") == 0)
      throw Error(
          ErrorKind::input, "python.array",
          concat(name, " is a ", type_name(given),
                 "; need a NumPy array or an object with __dlpack__ (numpy.asarray makes one of lists)"));
    if (Object booleans = booleans_of(given)) {
      *this = ArrayArg(booleans, name);
      object = Object::borrowed(given);
      return;
    }
    DlpackView imported = import_dlpack(given, name);
    dlpack = true;
    view = imported.view;
    memory = std::move(imported.capsule);
    const int last = view.rank() - 1;
    const bool odd = reinterpret_cast<std::uintptr_t>(view.as<std::byte>()) % size_of(view.dtype()) != 0;
    if (odd || (view.dim(last) > 1 && view.stride(last) != 1)) {
      auto* copy = new Tensor(contiguous(view));
      memory = capsule_of(copy);
      view = copy->view();
    }
    return;
  }
  memory = object;
  const NumpyArray& a = array_of(given);
  if (a.rank == 0 || a.rank > kMaxRank) refuse_rank(name, a.rank);
  const std::optional<DType> dtype = dtype_of(a);
  if (!dtype)
    throw Error(ErrorKind::input, "python.dtype",
                concat(name, " has dtype ", text_of(text_object(given.attr("dtype"))),
                       "; need float32, float64, float16, bfloat16 (of ml_dtypes), or bool for masks"));
  if (!readable(a, static_cast<Index>(size_of(*dtype)))) memory = readable_copy(given);
  view = view_of(memory, *dtype);
}

ConstTensorView ArrayArg::widened(const char* name, int axes) const {
  if (view.rank() < axes)
    throw Error(ErrorKind::input, "python.rank",
                concat(name, " is ", view.shape().text(), "; need ", axes, " to ", kMaxRank, " axes"));
  if (view.rank() == kMaxRank) return view;
  Shape shape, strides;
  shape.rank = strides.rank = kMaxRank;
  const int missing = kMaxRank - view.rank();
  for (int axis = 0; axis < kMaxRank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    shape.dims[at] = axis < missing ? 1 : view.dim(axis - missing);
    strides.dims[at] = axis < missing ? 0 : view.stride(axis - missing);
  }
  return {view.data(), view.dtype(), shape, strides};
}

ArrayArg numbers_arg(Handle object, const char* name, DType dtype) {
  if (object.is_none()) return {};
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    try {
      return {import("numpy").attr("asarray")(object, dtype == DType::f64 ? "float64" : "float32"), name};
    } catch (PythonError& error) {
      if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
      throw Error(ErrorKind::input, "python.numbers",
                  concat(name, " is ", repr_of(object), "; need numbers"));
    }
  }
  return {object, name};
}

ArrayMaker::Result ArrayMaker::make(const Shape& shape, DType dtype, int drop) const {
  Result result;
  result.maker_ = this;
  result.drop_ = drop;
  if (like_->dlpack) {
    result.tensor_ = Tensor::uninitialized(shape, dtype);
    result.view_ = result.tensor_.view();
    return result;
  }
  std::array<Py_ssize_t, kMaxRank> dims{};
  for (int axis = drop; axis < shape.rank; ++axis) dims[static_cast<std::size_t>(axis - drop)] = shape[axis];
  PyObject* descriptor = dtype == DType::bf16
                             ? like_->object.attr("dtype").attr("newbyteorder")("=").release()
                             : numpy().descriptor_of(number_of(dtype));
  result.object_ = Object::taken(numpy().new_array(numpy().array_type, descriptor, shape.rank - drop,
                                                   dims.data(), nullptr, nullptr, 0, nullptr));
  result.view_ = TensorView(array_of(result.object_).data, dtype, shape);
  return result;
}

Object ArrayMaker::Result::take() {
  if (object_) return std::move(object_);
  return maker_ == nullptr ? none() : maker_->finish(std::move(tensor_), drop_);
}

Object ArrayMaker::finish(Tensor tensor, int drop) const {
  const DType dtype = tensor.dtype();
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(like_->object.ptr()));
  const std::string module = text_of(Handle(type).attr("__module__"));
  const std::string root = module.substr(0, module.find('.'));
  const Object known = import("sys").attr("modules").attr("get")(root);
  Object buffer = export_dlpack(std::move(tensor), drop);
  if (!known.is_none()) {
    if (known.has("from_dlpack")) return known.attr("from_dlpack")(buffer);
    if (known.has("dlpack") && known.attr("dlpack").has("from_dlpack"))
      return known.attr("dlpack").attr("from_dlpack")(buffer);
  }
  // A library without DLPack import: NumPy's array, or for bf16, which NumPy lacks, the memory itself.
  return dtype == DType::bf16 ? buffer : import("numpy").attr("from_dlpack")(buffer);
}

void copy_into(ConstTensorView view, TensorView out) {
  const int rank = view.rank();
  const auto dim = [&](int axis) { return axis < rank - 1 ? view.dim(axis) : Index{1}; };
  const auto stride = [&](int axis) { return axis < rank - 1 ? view.stride(axis) : Index{0}; };
  const Index columns = view.dim(rank - 1), step = view.stride(rank - 1);
  const auto size = static_cast<Index>(size_of(view.dtype()));
  auto* to = out.as<std::byte>();
  for (Index a = 0; a < dim(0); ++a)
    for (Index b = 0; b < dim(1); ++b)
      for (Index c = 0; c < dim(2); ++c) {
        const auto* row = view.as<std::byte>() + (a * stride(0) + b * stride(1) + c * stride(2)) * size;
        for (Index d = 0; d < columns; ++d, to += size)
          std::memcpy(to, row + d * step * size, static_cast<std::size_t>(size));
      }
}

Tensor contiguous(ConstTensorView view) {
  Tensor copy = Tensor::uninitialized(view.shape(), view.dtype());
  copy_into(view, copy);
  return copy;
}

Object capsule_of(Tensor* tensor) {
  return make_capsule(tensor, nullptr, [](PyObject* capsule) {
    delete static_cast<Tensor*>(PyCapsule_GetPointer(capsule, nullptr));
  });
}

Object to_numpy(Tensor tensor) {
  if (tensor.dtype() == DType::bf16) return to_numpy_copy(tensor);
  auto* owned = new Tensor(std::move(tensor));
  Object owner = capsule_of(owned);
  std::array<Py_ssize_t, kMaxRank> dims{};
  for (int axis = 0; axis < owned->rank(); ++axis) dims[static_cast<std::size_t>(axis)] = owned->dim(axis);
  Object array = Object::taken(
      numpy().new_array(numpy().array_type, numpy().descriptor_of(number_of(owned->dtype())), owned->rank(),
                        dims.data(), nullptr, owned->view().data(), kNumpyWritable, nullptr));
  if (numpy().set_base(array.ptr(), owner.release()) < 0) throw PythonError();
  return array;
}

Object to_numpy_copy(ConstTensorView view) {
  if (view.empty()) return none();
  Tensor copy = contiguous(view);
  if (copy.dtype() != DType::bf16) return to_numpy(std::move(copy));
  Tensor floats = Tensor::uninitialized(copy.shape());
  const Index count = copy.shape().elements();
  for (Index i = 0; i < count; ++i) floats.as<float>()[i] = to_float(copy.as<BF16>()[i]);
  return to_numpy(std::move(floats));
}

}  // namespace headlight::python
