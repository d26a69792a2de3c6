// Numbers of a run as TensorBoard reads them: records with checksums (TFRecord), each an Event of Protocol Buffers of
// which the few fields that are needed are written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headlight::train {

// The file name; TensorBoard searches it for "tfevents".
inline constexpr const char* kEventFile = "events.out.tfevents.headlight";

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;
// The header of a file.
[[nodiscard]] std::string event_file_start(double wall_time);
// One number of a step.
[[nodiscard]] std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag,
                                       float value);

}  // namespace headlight::train
