// Writes a folder atomically: under a temporary name in the same parent, flushed to the disk, and renamed when it
// is complete. Readers see the old folder, the new one, or none; never a part.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headlight::io {

class FolderWriter {
 public:
  // Creates an empty temporary folder in `parent`. Every failure here and below is Error{file}.
  FolderWriter(const std::string& parent, const std::string& name);
  ~FolderWriter();  // removes the folder if it was not committed
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  // Files one after the other: begin, write as often as needed, end (which flushes it to the disk). A name may have one
  // slash: "folder/file".
  void begin(const std::string& file);
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void end();

  // Renames the folder. An existing folder of that name is replaced in one step and then removed.
  void commit();

 private:
  std::string parent_, name_, temporary_, file_;
  int fd_ = -1;
};

// Removes temporary and half-removed folders that a killed process left in `parent`; others are unchanged.
void remove_leftovers(const std::string& parent) noexcept;
// Removes a folder of files so that it is never visible half-empty under its name.
void remove_folder(const std::string& parent, const std::string& name) noexcept;
// Makes renames and removals in a folder durable. Throws Error{file}.
void flush_folder(const std::string& path);

}  // namespace headlight::io
