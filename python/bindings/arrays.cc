#include "bindings/arrays.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "core/concat.h"

namespace headlight::python {
namespace {

// Type numbers of NumPy (ndarraytypes.h), which are part of its ABI.
enum NumpyType {
  kBool = 0,
  kInt = 5,
  kLong = 7,
  kLongLong = 9,
  kFloat = 11,
  kDouble = 12,
  kHalf = 23,
  kUser = 256
};

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

std::optional<DType> dtype_of(PyObject* descriptor) {
  const auto* proxy = py::detail::array_descriptor_proxy(descriptor);
  switch (proxy->type_num) {
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
  if (proxy->type_num >= kUser && py::cast<std::string>(py::handle(descriptor).attr("name")) == "bfloat16")
    return DType::bf16;
  return std::nullopt;
}

[[noreturn]] void refuse_rank(const char* name, Index rank) {
  throw Error(ErrorKind::input, "python.rank",
              rank == 0 ? concat(name, " is a single number; need an array")
                        : concat(name, " has ", rank, " axes; need at most ", kMaxRank));
}

// Whether kernels can read it in place.
bool readable(const py::detail::PyArray_Proxy& a, Index item) {
  const auto* descriptor = py::detail::array_descriptor_proxy(a.descr);
  constexpr int aligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  if ((a.flags & aligned) == 0 || descriptor->byteorder == '>') return false;
  for (int axis = 0; axis < a.nd; ++axis) {
    if (a.dimensions[axis] == 0) return true;
    if (a.strides[axis] % item != 0) return false;
  }
  return a.dimensions[a.nd - 1] <= 1 || a.strides[a.nd - 1] == item;
}

// A copy in C order and the machine's byte order.
py::object readable_copy(py::handle array) {
  const py::object dtype = array.attr("dtype").attr("newbyteorder")("=");
  return py::module_::import("numpy").attr("array")(array, py::arg("dtype") = dtype, py::arg("order") = "C",
                                                    py::arg("copy") = true, py::arg("subok") = false);
}

ConstTensorView view_of(const py::object& array, DType dtype) {
  const auto* a = py::detail::array_proxy(array.ptr());
  Shape shape, strides;
  shape.rank = strides.rank = a->nd;
  bool none = false;
  for (int axis = 0; axis < a->nd; ++axis) none = none || a->dimensions[axis] == 0;
  const auto item = static_cast<Index>(size_of(dtype));
  for (int axis = 0; axis < a->nd; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    shape.dims[at] = a->dimensions[axis];
    // Strides of axes with one element and of arrays without any are never used, and NumPy leaves arbitrary values there.
    strides.dims[at] = axis == a->nd - 1 && (none || a->dimensions[axis] == 1) ? 1 : a->strides[axis] / item;
  }
  return {a->data, dtype, shape, strides};
}

}  // namespace

// Tensors of booleans as NumPy's array over their memory: PyTorch 1 does not give them by DLPack. Empty for anything else.
static py::object booleans_of(py::handle given) {
  const std::string dtype = py::str(py::getattr(given, "dtype", py::none()));
  if (dtype != "torch.bool" || !py::hasattr(given, "numpy")) return {};
  return given.attr("numpy")();
}

ArrayArg::ArrayArg(py::handle given, const char* name) : object(py::reinterpret_borrow<py::object>(given)) {
  const auto& api = py::detail::npy_api::get();
  if (!api.PyArray_Check_(given.ptr())) {
    if (PyObject_HasAttrString(given.ptr(), "__dlpack__") == 0)
      throw Error(
          ErrorKind::input, "python.array",
          concat(name, " is a ", Py_TYPE(given.ptr())->tp_name,
                 "; need a NumPy array or an object with __dlpack__ (numpy.asarray makes one of lists)"));
    if (py::object booleans = booleans_of(given)) {
      *this = ArrayArg(booleans, name);
      object = py::reinterpret_borrow<py::object>(given);
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
  const auto* a = py::detail::array_proxy(given.ptr());
  if (a->nd == 0 || a->nd > kMaxRank) refuse_rank(name, a->nd);
  const std::optional<DType> dtype = dtype_of(a->descr);
  if (!dtype)
    throw Error(ErrorKind::input, "python.dtype",
                concat(name, " has dtype ", py::cast<std::string>(py::str(given.attr("dtype"))),
                       "; need float32, float64, float16, bfloat16 (of ml_dtypes), or bool for masks"));
  if (!readable(*a, static_cast<Index>(size_of(*dtype)))) memory = readable_copy(given);
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

ArrayArg numbers_arg(py::handle object, const char* name, DType dtype) {
  if (object.is_none()) return {};
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    try {
      return {
          py::module_::import("numpy").attr("asarray")(object, dtype == DType::f64 ? "float64" : "float32"),
          name};
    } catch (py::error_already_set& error) {
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
  const auto& api = py::detail::npy_api::get();
  std::array<Py_intptr_t, kMaxRank> dims{};
  for (int axis = drop; axis < shape.rank; ++axis) dims[static_cast<std::size_t>(axis - drop)] = shape[axis];
  PyObject* descriptor = dtype == DType::bf16
                             ? like_->object.attr("dtype").attr("newbyteorder")("=").release().ptr()
                             : api.PyArray_DescrFromType_(number_of(dtype));
  // Takes the reference to the descriptor, also when it fails.
  result.object_ = py::reinterpret_steal<py::object>(api.PyArray_NewFromDescr_(
      api.PyArray_Type_, descriptor, shape.rank - drop, dims.data(), nullptr, nullptr, 0, nullptr));
  if (!result.object_) throw py::error_already_set();
  result.view_ = TensorView(py::detail::array_proxy(result.object_.ptr())->data, dtype, shape);
  return result;
}

py::object ArrayMaker::Result::take() {
  if (object_) return std::move(object_);
  return maker_ == nullptr ? py::none() : maker_->finish(std::move(tensor_), drop_);
}

py::object ArrayMaker::finish(Tensor tensor, int drop) const {
  const DType dtype = tensor.dtype();
  const std::string module = py::cast<std::string>(py::type::of(like_->object).attr("__module__"));
  const std::string root = module.substr(0, module.find('.'));
  const py::object known = py::module_::import("sys").attr("modules").attr("get")(root);
  py::object buffer = export_dlpack(std::move(tensor), drop);
  if (!known.is_none()) {
    if (py::hasattr(known, "from_dlpack")) return known.attr("from_dlpack")(buffer);
    if (py::hasattr(known, "dlpack") && py::hasattr(known.attr("dlpack"), "from_dlpack"))
      return known.attr("dlpack").attr("from_dlpack")(buffer);
  }
  // A library without DLPack import: NumPy's array, or for bf16, which NumPy lacks, the memory itself.
  return dtype == DType::bf16 ? buffer : py::module_::import("numpy").attr("from_dlpack")(buffer);
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

py::capsule capsule_of(Tensor* tensor) {
  return py::capsule(tensor, [](void* p) { delete static_cast<Tensor*>(p); });
}

py::object to_numpy(Tensor tensor) {
  if (tensor.dtype() == DType::bf16) return to_numpy_copy(tensor);
  const auto& api = py::detail::npy_api::get();
  auto* owned = new Tensor(std::move(tensor));
  const py::capsule owner = capsule_of(owned);
  std::array<Py_intptr_t, kMaxRank> dims{};
  for (int axis = 0; axis < owned->rank(); ++axis) dims[static_cast<std::size_t>(axis)] = owned->dim(axis);
  constexpr int writable = py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  py::object array = py::reinterpret_steal<py::object>(api.PyArray_NewFromDescr_(
      api.PyArray_Type_, api.PyArray_DescrFromType_(number_of(owned->dtype())), owned->rank(), dims.data(),
      nullptr, owned->view().data(), writable, nullptr));
  if (!array) throw py::error_already_set();
  api.PyArray_SetBaseObject_(array.ptr(), owner.inc_ref().ptr());
  return array;
}

py::object to_numpy_copy(ConstTensorView view) {
  if (view.empty()) return py::none();
  Tensor copy = contiguous(view);
  if (copy.dtype() != DType::bf16) return to_numpy(std::move(copy));
  Tensor floats = Tensor::uninitialized(copy.shape());
  const Index count = copy.shape().elements();
  for (Index i = 0; i < count; ++i) floats.as<float>()[i] = to_float(copy.as<BF16>()[i]);
  return to_numpy(std::move(floats));
}

}  // namespace headlight::python
