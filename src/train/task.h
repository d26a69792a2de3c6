// A training task: the source of batches. A batch is a pure function of the seed and its index, so a run can
// be continued anywhere without replaying earlier batches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/trainable.h"

namespace headlight::train {

class Task {
 public:
  virtual ~Task() = default;

  // Training batch number 0, 1, 2, …: overwrites `batch` and reuses its memory.
  virtual void training_batch(std::int64_t number, models::Batch& batch) const = 0;
  // The evaluation set, the same every time; 0 batches when there is none.
  [[nodiscard]] virtual Index evaluation_batches() const = 0;
  virtual void evaluation_batch(Index number, models::Batch& batch) const = 0;

  [[nodiscard]] virtual Index vocabulary() const = 0;      // upper bound of ids
  [[nodiscard]] virtual Index longest_source() const = 0;  // tokens of the longest sequence; 0: no source
  [[nodiscard]] virtual Index longest_input() const = 0;
  [[nodiscard]] virtual double epochs(
      std::int64_t batches) const = 0;  // passes over the data; 0: endless data
  // One or two lines for the user: the amount of data, and the amount left out.
  [[nodiscard]] virtual std::string describe() const = 0;
};

inline void clear(models::Batch& batch) {
  for (models::Tokens* tokens : {&batch.source, &batch.input}) {
    tokens->ids.clear();
    tokens->starts.assign(1, 0);
  }
  batch.targets.clear();
  batch.type_ids.clear();
  batch.links.clear();
}

}  // namespace headlight::train
