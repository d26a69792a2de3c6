// Training on synthetic tasks in memory, for experiments: no files, no recipe, the same bits every time.
#pragma once

#include <cstdint>
#include <memory>

#include "headlight/context.h"
#include "models/trainable.h"
#include "train/adamw.h"
#include "train/schedule.h"
#include "train/task.h"

namespace headlight::train {

struct Course {
  std::int64_t steps = 0;
  double rate = 3e-3;        // peak of a cosine
  std::int64_t warmup = 20;  // steps
};

// A model with its optimizer. Gradients are clipped to length 1; there is no weight decay.
class Learner {
 public:
  // `task` must outlive this.
  Learner(Context& ctx, std::unique_ptr<models::Trainable> model, const Task& task, const Course& course);

  // One batch; returns the loss before it. Throws Error{numeric} when that is not finite.
  double step();
  [[nodiscard]] std::int64_t steps() const noexcept { return done_; }
  [[nodiscard]] bool finished() const noexcept { return done_ == course_.steps; }

  // The share of right answers on a task's evaluation set.
  [[nodiscard]] double accuracy(const Task& task) const;
  [[nodiscard]] models::Trainable& model() noexcept { return *model_; }

 private:
  Context& ctx_;
  std::unique_ptr<models::Trainable> model_;
  const Task& task_;
  Course course_;
  Schedule schedule_;
  AdamW adam_;
  std::int64_t done_ = 0;
  models::Batch batch_;
};

// Number of trained parameters.
[[nodiscard]] Index parameters_of(models::Trainable& model);

}  // namespace headlight::train
