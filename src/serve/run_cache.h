// Runs by their id; the least recently used are dropped above a memory limit.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "serve/run.h"

namespace headlight::serve {

class RunCache {
 public:
  explicit RunCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  [[nodiscard]] std::shared_ptr<const KeptRun> find(const std::string& id);
  void keep(const std::shared_ptr<const KeptRun>& run);  // the newest one is kept, whatever its size

 private:
  std::size_t most_bytes_, bytes_ = 0;
  std::list<std::shared_ptr<const KeptRun>> runs_;  // most recently used first
  std::mutex mutex_;
};

}  // namespace headlight::serve
