#include "io/source.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::io {

Source::Source(std::unique_ptr<const File> file) : name_(file->path()), file_(std::move(file)) {}
Source::Source(std::vector<std::byte> memory, std::string name)
    : name_(std::move(name)), memory_(std::move(memory)) {}

Source::~Source() {
  if (mapping_ != nullptr) ::munmap(const_cast<std::byte*>(mapping_), file_->size());
}

void Source::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (file_) return file_->read(offset, to);
  if (!to.empty()) std::memcpy(to.data(), memory_.data() + offset, to.size());
}

std::span<const std::byte> Source::mapped(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return {};
  if (!file_) return std::span<const std::byte>(memory_).subspan(offset, bytes);
  struct stat status {};
  if (::fstat(file_->descriptor(), &status) != 0) fail_file(name_, "read", errno);
  if (static_cast<std::uint64_t>(status.st_size) < file_->size()) {
    throw Error(ErrorKind::file, "file.shrunk",
                concat(escaped(name_), ": was truncated after it was opened"));
  }
  std::call_once(once_, [&] {
    void* const all = ::mmap(nullptr, file_->size(), PROT_READ, MAP_PRIVATE, file_->descriptor(), 0);
    if (all == MAP_FAILED) fail_file(name_, "map", errno);
#ifdef MADV_HUGEPAGE
    // Read into large pages where the file system has them (ext4 and XFS of current kernels): with small ones, hardware
    // prefetchers stop at every page, and a core waits for page tables. Elsewhere this is refused and changes nothing.
    (void)::madvise(all, file_->size(), MADV_HUGEPAGE);
#endif
    mapping_ = static_cast<const std::byte*>(all);
  });
  return {mapping_ + offset, static_cast<std::size_t>(bytes)};
}

}  // namespace headlight::io
