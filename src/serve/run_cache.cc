#include "serve/run_cache.h"

#include <algorithm>

namespace headlight::serve {

std::shared_ptr<const KeptRun> RunCache::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& run) { return run->id == id; });
  if (found == runs_.end()) return nullptr;
  runs_.splice(runs_.begin(), runs_, found);
  return runs_.front();
}

void RunCache::keep(const std::shared_ptr<const KeptRun>& run) {
  const std::lock_guard lock(mutex_);
  runs_.remove_if([&](const auto& other) {
    if (other->id != run->id) return false;
    bytes_ -= other->bytes();
    return true;
  });
  runs_.push_front(run);
  bytes_ += run->bytes();
  while (bytes_ > most_bytes_ && runs_.size() > 1) {
    bytes_ -= runs_.back()->bytes();
    runs_.pop_back();
  }
}

}  // namespace headlight::serve
