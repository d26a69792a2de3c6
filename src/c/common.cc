#include "c/common.h"

#include "headlight/version.h"

namespace headlight::c {
namespace {

struct LastError {
  std::string code, text;
};
thread_local LastError last_error;

}  // namespace

void keep_error(const char* code, const char* text) noexcept {
  try {
    last_error.code = code;
    last_error.text = text;
  } catch (...) {  // no memory for the text: an empty one
    last_error.code.clear();
    last_error.text.clear();
  }
}

headlight_status status_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage: return HEADLIGHT_USAGE;
    case ErrorKind::input: return HEADLIGHT_INPUT;
    case ErrorKind::file: return HEADLIGHT_FILE;
    case ErrorKind::resource: return HEADLIGHT_RESOURCE;
    case ErrorKind::numeric: return HEADLIGHT_NUMERIC;
    case ErrorKind::peer: return HEADLIGHT_PEER;
  }
  return HEADLIGHT_INTERNAL;
}

TensorView view_of(const headlight_tensor& tensor, const char* name) {
  if (tensor.rank == 0) return {};
  if (tensor.rank < 0 || tensor.rank > kMaxRank)
    throw Error(ErrorKind::usage, "c.rank",
                concat(name, " has rank ", tensor.rank, "; need 0 (not given) to ", kMaxRank));
  if (tensor.dtype < HEADLIGHT_F32 || tensor.dtype > HEADLIGHT_BOOL)
    throw Error(ErrorKind::usage, "c.dtype",
                concat(name, " has dtype ", tensor.dtype, "; need 0 to ", static_cast<int>(HEADLIGHT_BOOL)));
  const auto rank = static_cast<std::size_t>(tensor.rank);
  return {tensor.data, static_cast<DType>(tensor.dtype), Shape(std::span<const Index>(tensor.shape, rank)),
          Shape(std::span<const Index>(tensor.strides, rank))};
}

Part part_of(std::int32_t part) {
  switch (part) {
    case HEADLIGHT_ENCODER: return Part::encoder;
    case HEADLIGHT_DECODER: return Part::decoder;
    case HEADLIGHT_CROSS: return Part::cross;
    default: throw Error(ErrorKind::usage, "c.part", concat("part is ", part, "; need 0, 1 or 2"));
  }
}

}  // namespace headlight::c

const char* headlight_version(void) { return headlight::kVersion; }
const char* headlight_error_text(void) { return headlight::c::last_error.text.c_str(); }
const char* headlight_error_code(void) { return headlight::c::last_error.code.c_str(); }

headlight_tensor headlight_contiguous(void* data, std::int32_t dtype, std::int32_t rank,
                                      const std::int64_t* shape) {
  headlight_tensor tensor{};
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.rank = rank;
  if (shape == nullptr || rank < 0 || rank > headlight::kMaxRank) return tensor;  // refused when it is used
  std::int64_t below = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    tensor.shape[axis] = shape[axis];
    tensor.strides[axis] = below;
    if (__builtin_mul_overflow(below, shape[axis] > 0 ? shape[axis] : 1, &below)) below = INT64_MAX;
  }
  return tensor;
}

headlight_status headlight_context_new(std::int32_t threads, headlight_context** context) {
  return headlight::c::guarded([&] {
    headlight::c::given(context, "context") = nullptr;
    *context = new headlight_context(threads);
  });
}
void headlight_context_free(headlight_context* context) { delete context; }
