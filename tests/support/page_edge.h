// Memory that must not be left: tensors that end, or begin, at a page without access.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "support/slices.h"

namespace headlight::testing {

// A copy of a tensor whose bytes end (or begin) at a page without access.
class AtPageEdge {
 public:
  AtPageEdge(const ConstTensorView& from, bool at_end) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::vector<std::uint8_t> bits = bits_of(from);
    const std::size_t room = (bits.size() + page - 1) / page * page;
    size_ = room + 2 * page;
    base_ = static_cast<std::uint8_t*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) std::abort();
    if (room > 0 && mprotect(base_ + page, room, PROT_READ | PROT_WRITE) != 0) std::abort();
    std::uint8_t* data = at_end ? base_ + page + room - bits.size() : base_ + page;
    if (!bits.empty()) std::memcpy(data, bits.data(), bits.size());
    view = TensorView(data, from.dtype(), from.shape());
  }
  ~AtPageEdge() { munmap(base_, size_); }
  AtPageEdge(const AtPageEdge&) = delete;
  AtPageEdge& operator=(const AtPageEdge&) = delete;

  TensorView view;

 private:
  std::uint8_t* base_ = nullptr;
  std::size_t size_ = 0;
};

// Options whose tensors lie there.
class OptionsAtPageEdge {
 public:
  OptionsAtPageEdge(const AttentionOptions& from, bool at_end) : options(from) {
    for (ConstTensorView* view : {&options.mask, &options.bias, &options.sinks, &options.alibi_slopes}) {
      if (view->empty()) continue;
      tensors_.push_back(std::make_unique<AtPageEdge>(*view, at_end));
      *view = tensors_.back()->view;
    }
  }
  AttentionOptions options;

 private:
  std::vector<std::unique_ptr<AtPageEdge>> tensors_;
};

}  // namespace headlight::testing
