#include "text/byte_trie.h"

#include <algorithm>

namespace headlight::text {

// Level by level, so that a node's children are adjacent. No recursion, because keys may be long.
ByteTrie::ByteTrie(std::vector<std::pair<std::string, std::int32_t>> entries) : roots_(256, kNowhere) {
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(entries.begin(), entries.end(), by_key);
  struct Pending {
    std::size_t begin = 0, end = 0;  // entries that pass through this node
  };
  std::vector<Pending> level = {{0, entries.size()}}, next;
  places_.emplace_back();
  labels_.push_back(0);
  Node node = 0;
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    next.clear();
    for (const auto& [begin, end] : level) {
      std::size_t at = begin;
      if (at < end && entries[at].first.size() == depth) places_[node].value = entries[at].second;
      while (at < end && entries[at].first.size() == depth) ++at;
      places_[node].first_child = static_cast<Node>(places_.size());
      while (at < end) {
        const char label = entries[at].first[depth];
        const std::size_t from = at;
        while (at < end && entries[at].first[depth] == label) ++at;
        next.push_back({from, at});
        if (node == kRoot) roots_[static_cast<unsigned char>(label)] = static_cast<Node>(places_.size());
        places_.emplace_back();
        labels_.push_back(static_cast<unsigned char>(label));
        ++places_[node].children;
      }
      ++node;
    }
    level.swap(next);
  }
}

}  // namespace headlight::text
