// checkpoint.json: which files and tensors a checkpoint has, their checksums, and the run's progress. The last
// line is a checksum of all lines before it.
#pragma once

#include <string>
#include <vector>

#include "train/checkpoint.h"

namespace headlight::train {

struct FileFacts {
  std::string name;
  std::uint64_t bytes = 0;
  std::string hash;
  Facts tensors;  // name, checksum
};

struct Manifest {
  std::int64_t version = kCheckpointVersion;
  std::string program;  // the version of the program that wrote it
  TrainingState progress;
  bool has_optimizer = false;
  Facts recipe;
  std::vector<DataFile> data;
  std::vector<FileFacts> files;
};

inline constexpr const char* kManifestName = "checkpoint.json";

[[nodiscard]] std::string manifest_text(const Manifest& manifest);
// Throw Error{input}: checkpoint.damaged or checkpoint.version.
[[nodiscard]] Manifest read_manifest(const std::string& folder);
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::string& folder);

// "FOLDER: WHAT": the checkpoint is damaged, another one may be usable.
[[noreturn]] void refuse_damaged(const std::string& folder, const std::string& what);

}  // namespace headlight::train
