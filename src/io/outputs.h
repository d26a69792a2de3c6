// Output files of a command: all of them complete, or none of them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headlight::io {

enum class Existing { refuse, replace };

// Results are written to temporary files and renamed when all are complete, so that a failure leaves
// no files behind, and changes no existing ones.
class Outputs {
 public:
  explicit Outputs(Existing existing);
  ~Outputs();
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  // Refuses, before any work is done, a file that could not be written at the end: an existing file, a
  // folder, a device, the same file twice, a folder that is missing or not writable.
  void reserve(const std::string& path);
  // Appends bytes to a reserved file.
  void write(const std::string& path, std::span<const std::byte> bytes);
  // Renames all files to their final names.
  void commit();

 private:
  struct Entry;
  void check(const Entry& candidate) const;
  void publish(Entry& entry) const;

  Existing existing_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

// From now on this process checks its outputs but does not write them, because another process of the team does.
void write_no_files() noexcept;

// Removes the temporary files of unfinished Outputs. Safe in a signal handler.
void remove_temporaries() noexcept;

}  // namespace headlight::io
