// Writes an ONNX model of a single node: enough protobuf for a bench to need no ONNX library.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headlight::peers {

struct OnnxValue {
  std::string name;      // empty: an optional input that is left out
  int element_type = 1;  // 1 float, 6 int32
  std::vector<std::int64_t> shape;
};

struct OnnxNode {
  std::string op, domain;   // domain "" is ONNX itself, "com.microsoft" ONNX Runtime's own
  std::int64_t opset = 23;  // version of ONNX's operators
  std::vector<std::pair<std::string, std::int64_t>> attributes = {};
  std::vector<OnnxValue> inputs = {}, outputs = {};
};

[[nodiscard]] std::string onnx_model(const OnnxNode& node);

}  // namespace headlight::peers
