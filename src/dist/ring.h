// Passes keys and values round the ring: each rank computes with the shard it holds while it receives the next one.
#pragma once

#include <memory>
#include <utility>

#include "dist/group.h"
#include "dist/ring_plan.h"
#include "dist/widened.h"

namespace headlight::dist {

class KeyRing {
 public:
  KeyRing(const SharedCall& call, const RingPlan& plan);

  // Calls traveller.visit(owner, k, v) for every hop at which this rank holds keys that are still needed; k and v are the
  // owner's shards, in the call's dtype. While it runs, the shard is sent on and the next one received, together with what
  // traveller.prepare(hop, moving) adds. Then traveller.arrived(hop).
  template <class Traveller>
  void turn(Traveller& traveller) {
    for (int hop = 0; hop < call_.ranks(); ++hop) {
      Transfers moving(call_.group);
      start(hop, moving);
      traveller.prepare(hop, moving);
      if (call_.how.overlap) moving.run_in_background();
      else moving.wait();
      const int owner = owner_at(hop);
      if (holds(hop)) traveller.visit(owner, keys(owner), values(owner));
      moving.wait();
      traveller.arrived(hop);
      std::swap(here_, arriving_);
    }
  }

  [[nodiscard]] int next() const { return (call_.rank() + 1) % call_.ranks(); }
  [[nodiscard]] int previous() const { return (call_.rank() + call_.ranks() - 1) % call_.ranks(); }
  // The rank that owns the keys held here at a hop.
  [[nodiscard]] int owner_at(int hop) const {
    return (call_.rank() - hop + 2 * call_.ranks()) % call_.ranks();
  }
  [[nodiscard]] bool holds(int hop) const { return hop <= plan_.last_hop(owner_at(hop)); }
  [[nodiscard]] int tag() const { return tag_; }  // the next two are free

 private:
  void start(int hop, Transfers& moving);
  [[nodiscard]] std::size_t bytes_of_shard(int owner) const;
  [[nodiscard]] ConstTensorView keys(int owner) const;
  [[nodiscard]] ConstTensorView values(int owner) const;

  const SharedCall& call_;
  const RingPlan& plan_;
  std::vector<std::byte> here_, arriving_;
  int tag_;
};

}  // namespace headlight::dist
