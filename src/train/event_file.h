// Numbers of a run as TensorBoard reads them: records with checksums (TFRecord), each an Event of Protocol Buffers of
// which the few fields that are needed are written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headlight::train {

// The file's name; TensorBoard looks for "tfevents" in it.
inline constexpr const char* kEventFile = "events.out.tfevents.headlight";

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;
// What a file begins with.
[[nodiscard]] std::string event_file_start(double wall_time);
// One number of a step.
[[nodiscard]] std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag,
                                       float value);

}  // namespace headlight::train
