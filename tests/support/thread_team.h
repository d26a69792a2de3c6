// A team whose processes are threads of the test: what code does with a team, without MPI.
#pragma once

#include <barrier>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "headlight/team.h"

namespace headlight::testing {

class ThreadTeam : public Team {
 public:
  // What the members share.
  struct Table {
    explicit Table(int size) : meeting(size), parts(static_cast<std::size_t>(size)) {}
    std::barrier<> meeting;
    std::vector<std::span<const std::span<const std::byte>>> parts;
  };
  ThreadTeam(Table& table, int rank) : table_(table), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(table_.parts.size()); }

  [[nodiscard]] bool overlaps() const noexcept override { return true; }

  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    const std::vector<std::span<const std::byte>> parts(table_.parts.size(), mine);
    std::vector<std::vector<std::byte>> all;
    exchange(parts, [&](std::size_t, std::span<const std::byte> part) {
      all.emplace_back(part.begin(), part.end());
    });
    return all;
  }
  void all_to_all(std::span<const std::span<const std::byte>> parts,
                  std::span<const std::span<std::byte>> from) override {
    exchange(parts, [&](std::size_t rank, std::span<const std::byte> part) {
      if (part.size() != from[rank].size())
        throw std::logic_error("a part of another size than was expected");
      if (!part.empty()) std::memcpy(from[rank].data(), part.data(), part.size());
    });
  }

 private:
  template <class Take>
  void exchange(std::span<const std::span<const std::byte>> parts, const Take& take) {
    table_.parts[static_cast<std::size_t>(rank_)] = parts;
    table_.meeting.arrive_and_wait();
    for (std::size_t rank = 0; rank < table_.parts.size(); ++rank)
      take(rank, table_.parts[rank][static_cast<std::size_t>(rank_)]);
    table_.meeting.arrive_and_wait();
  }

  Table& table_;
  int rank_;
};

// body(team) on `size` threads at once.
inline void with_team(int size, const std::function<void(Team&)>& body) {
  ThreadTeam::Table table(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTeam team(table, rank);
      body(team);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace headlight::testing
