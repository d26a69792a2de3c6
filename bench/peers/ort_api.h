// The few functions of ONNX Runtime's C interface that a bench needs. The npm package ships the
// library without its header; the interface is a table of function pointers whose order never
// changes, so a slot number and a signature are enough.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headlight::peers::ort {

struct ApiBase {
  const void* const* (*get_api)(std::uint32_t version);
  const char* (*version_text)();
};

// Opaque objects; a Status that is null means success.
struct Status;
struct Env;
struct SessionOptions;
struct Session;
struct Value;
struct MemoryInfo;

enum Slot : std::size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kCreateTensorWithData = 49,
  kCreateCpuMemoryInfo = 69,
};

using GetErrorMessage = const char* (*)(const Status*);
using CreateEnv = Status* (*)(int log_level, const char* log_id, Env** out);
using CreateSessionFromArray = Status* (*)(const Env*, const void* model, std::size_t bytes,
                                           const SessionOptions*, Session** out);
using Run = Status* (*)(Session*, const void* run_options, const char* const* input_names,
                        const Value* const* inputs, std::size_t input_count, const char* const* output_names,
                        std::size_t output_count, Value** outputs);
using CreateSessionOptions = Status* (*)(SessionOptions** out);
using SetIntraOpNumThreads = Status* (*)(SessionOptions*, int threads);
using CreateTensorWithData = Status* (*)(const MemoryInfo*, void* data, std::size_t bytes,
                                         const std::int64_t* shape, std::size_t rank, int element_type,
                                         Value** out);
using CreateCpuMemoryInfo = Status* (*)(int allocator_type, int memory_type, MemoryInfo** out);

inline constexpr int kFloat = 1, kInt32 = 6;  // element types
inline constexpr int kDeviceAllocator = 0, kDefaultMemory = 0;
inline constexpr int kLogErrors = 3;
inline constexpr std::uint32_t kApiVersion = 17;  // old enough for any recent library

}  // namespace headlight::peers::ort
