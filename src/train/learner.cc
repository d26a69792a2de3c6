#include "train/learner.h"

#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::train {

Learner::Learner(Context& ctx, std::unique_ptr<models::Trainable> model, const Task& task,
                 const Course& course)
    : ctx_(ctx),
      model_(std::move(model)),
      task_(task),
      course_(course),
      adam_(model_->parameters(), {.beta2 = 0.98, .weight_decay = 0}) {
  schedule_.peak = course.rate;
  schedule_.floor = course.rate / 10;
  schedule_.warmup = course.warmup;
  schedule_.steps = course.steps;
}

double Learner::step() {
  task_.training_batch(done_, batch_);
  Index targets = 0;
  for (const std::int32_t target : batch_.targets) targets += target != models::kIgnored ? 1 : 0;
  const models::Loss loss =
      model_->learn(ctx_, batch_, {.scale = targets > 0 ? 1.0 / static_cast<double>(targets) : 0});
  const double norm = adam_.gradient_norm(ctx_);
  if (!std::isfinite(loss.sum) || !std::isfinite(norm))
    throw Error(ErrorKind::numeric, "lab.diverged",
                concat("lab: the loss is not finite at step ", done_ + 1));
  adam_.step(ctx_, schedule_.rate(done_), norm > 1 ? 1 / norm : 1);
  ++done_;
  return loss.mean();
}

double Learner::accuracy(const Task& task) const {
  models::Batch batch;
  models::Loss total;
  for (Index i = 0; i < task.evaluation_batches(); ++i) {
    task.evaluation_batch(i, batch);
    const models::Loss loss = model_->evaluate(ctx_, batch);
    total.targets += loss.targets;
    total.correct += loss.correct;
  }
  return total.targets > 0 ? static_cast<double>(total.correct) / static_cast<double>(total.targets) : 0;
}

Index parameters_of(models::Trainable& model) {
  Index count = 0;
  for (const Parameter* parameter : model.parameters())
    count += parameter->trained ? parameter->value.shape().elements() : 0;
  return count;
}

}  // namespace headlight::train
