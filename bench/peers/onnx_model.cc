#include "onnx_model.h"

namespace headlight::peers {
namespace {

// A protobuf message under construction. Field numbers are those of onnx.proto.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, const std::string& value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Message value_info(const OnnxValue& value) {
  Message shape;
  for (const std::int64_t size : value.shape)
    shape.message(1, Message().number(1, size));  // dim { dim_value }
  const Message tensor = Message().number(1, value.element_type).message(2, shape);
  return Message()
      .text(1, value.name)
      .message(2, Message().message(1, tensor));  // name, type { tensor_type }
}

Message node_message(const OnnxNode& node) {
  constexpr std::int64_t kIntAttribute = 2;
  Message message;
  for (const OnnxValue& input : node.inputs) message.text(1, input.name);
  for (const OnnxValue& output : node.outputs) message.text(2, output.name);
  message.text(3, "node").text(4, node.op);
  for (const auto& [name, value] : node.attributes) {
    message.message(5, Message().text(1, name).number(3, value).number(20, kIntAttribute));
  }
  return message.text(7, node.domain);
}

}  // namespace

std::string onnx_model(const OnnxNode& node) {
  constexpr std::int64_t kIrVersion = 10;
  Message graph = Message().message(1, node_message(node)).text(2, "bench");
  for (const OnnxValue& input : node.inputs) {
    if (!input.name.empty()) graph.message(11, value_info(input));
  }
  for (const OnnxValue& output : node.outputs) {
    if (!output.name.empty()) graph.message(12, value_info(output));
  }
  Message model = Message().number(1, kIrVersion).text(2, "headlight").message(7, graph);
  model.message(8, Message().text(1, "").number(2, node.opset));
  if (!node.domain.empty()) model.message(8, Message().text(1, node.domain).number(2, 1));
  return model.bytes();
}

}  // namespace headlight::peers
