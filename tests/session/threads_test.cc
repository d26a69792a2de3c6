// One model and one run, used by several threads at a time: every operation of the model API has the numbers that it has
// alone. Under the thread sanitizer this is where races of what they share would show.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <thread>

#include "core/concat.h"
#include "headlight/model.h"
#include "support/small_models.h"

namespace headlight {
namespace {

using headlight::testing::SmallKind;

constexpr const char* kText = "The animal didn't cross the street because it was too tired.";

// What an operation found, in full precision.
class Digest {
 public:
  template <class... Values>
  Digest& add(const Values&... values) {
    (append(values), ...);
    return *this;
  }
  Digest& add_all(ConstTensorView x) {
    for (Index i = 0; i < x.dim(0); ++i)
      for (Index j = 0; j < x.dim(1); ++j) add(x.at(i, j));
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void append(double x) { text_ += concat(std::bit_cast<std::uint64_t>(x), " "); }
  void append(const std::string& text) { text_ += text; }
  std::string text_;
};

struct Operation {
  const char* name;
  std::function<std::string(Context&)> work;
};

class SharedModel : public ::testing::TestWithParam<SmallKind> {
 protected:
  SharedModel() { testing::write_small_model(folder_.path(""), GetParam()); }

  // What every kind of model can do with a run that others look into as well.
  static std::vector<Operation> looks(const Model& model, const headlight::Run& run) {
    const Head head{run.parts().back(), 1, 0};
    return {
        {"attend",
         [=](Context& ctx) {
           const headlight::Run mine = attend(ctx, model, {.text = kText});
           return Digest().add_all(mine.weights(head, {}, {}, ctx)).add_all(mine.logits({}, ctx)).take();
         }},
        {"weights",
         [=](Context& ctx) {
           const HeadStatistics s = run.statistics(head, ctx);
           return Digest().add_all(run.weights(head, {}, {}, ctx)).add(s.entropy[1], s.received[0]).take();
         }},
        {"prediction",
         [=](Context& ctx) {
           const Prediction p = run.prediction(1, 3, ctx);
           return Digest().add(p.top[0].id, p.top[0].probability, p.top[2].probability).take();
         }},
        {"first_look",
         [=](Context& ctx) {
           const FirstLook look = first_look(run, {}, ctx);
           return Digest().add(look.head.layer, look.head.head, look.query.begin, look.weight).take();
         }},
        {"explain",
         [=](Context& ctx) {
           const HeadSteps s = explain(run, {.head = head, .query = 1, .key = 0}, ctx);
           return Digest().add(s.weights[0], s.scores[0], s.reference_weights[0], s.output[0]).take();
         }},
        {"find_links",
         [=](Context& ctx) {
           Digest digest;
           for (const LinkScore& link : find_links(run, {.link = "it->animal"}, ctx)) digest.add(link.weight);
           return digest.take();
         }},
        {"label_heads",
         [=](Context& ctx) {
           const std::vector<std::string> texts = {kText};
           Digest digest;
           for (const LabelledHead& one : label_heads(ctx, model, texts)) digest.add(one.text.entropy);
           return digest.take();
         }},
        {"compare",
         [=](Context& ctx) {
           const headlight::Run other = attend(ctx, model, {.text = "The cat was tired."});
           return Digest().add(compare(run, other, {}, {}, ctx).heads.front().distance).take();
         }},
        {"figure", [=](Context& ctx) { return figure(run, {.view = {.part = head.part, .layer = 1}}, ctx); }},
    };
  }
  static std::vector<Operation> changes(const Model& model, const headlight::Run& run) {
    const Part part = run.parts().back();
    return {{"ablate",
             [=](Context& ctx) {
               return Digest().add(ablate(ctx, run, {.part = part, .heads = {{1, 0}}}).mean_kl).take();
             }},
            {"sweep",
             [=](Context& ctx) {
               Digest digest;
               for (const SweptHead& head : sweep(ctx, model, {.text = kText}).heads) digest.add(head.kl);
               return digest.take();
             }},
            {"attribute", [=](Context& ctx) { return Digest().add(attribute(ctx, run).sum()).take(); }}};
  }
  static Operation writing(const Model& model) {
    if (model.info().kind == ModelKind::encoder_decoder)
      return {"translate", [=](Context& ctx) {
                const std::vector<std::string> texts = {kText, "It was."};
                const std::vector<Translation> all = translate(ctx, model, texts);
                return Digest().add(all[0].text, all[0].score, all[1].score).take();
              }};
    return {"generate and evaluate", [=](Context& ctx) {
              const std::vector<Prompt> prompts = {{.text = kText}};
              const std::vector<std::string> documents = {kText};
              return Digest()
                  .add(generate(ctx, model, prompts, {.max_tokens = 4})[0].text)
                  .add(evaluate(ctx, model, documents).nats)
                  .take();
            }};
  }
  testing::TempFolder folder_;
};

TEST_P(SharedModel, GivesEveryThreadItsNumbers) {
  const Model model = Model::open(folder_.path(""));
  Context alone({.threads = 1});
  const headlight::Run run = attend(alone, model, {.text = kText});
  std::vector<Operation> operations = looks(model, run);
  if (model.info().kind != ModelKind::encoder) {
    for (Operation& change : changes(model, run)) operations.push_back(std::move(change));
    operations.push_back(writing(model));
  }
  std::vector<std::string> expected;
  for (const Operation& operation : operations) expected.push_back(operation.work(alone));

  constexpr std::size_t kThreads = 3;  // each begins elsewhere, so that different operations meet
  std::vector<std::vector<std::string>> found(kThreads, std::vector<std::string>(operations.size()));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Context mine({.threads = 1 + static_cast<int>(t % 2)});
      for (std::size_t i = 0; i < operations.size(); ++i) {
        const std::size_t at = (i + t * operations.size() / kThreads) % operations.size();
        found[t][at] = operations[at].work(mine);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::string>& of_thread : found)
    for (std::size_t i = 0; i < operations.size(); ++i)
      EXPECT_TRUE(of_thread[i] == expected[i]) << operations[i].name;  // a figure is not for printing
}

INSTANTIATE_TEST_SUITE_P(All, SharedModel,
                         ::testing::Values(SmallKind::decoder, SmallKind::encoder, SmallKind::translator),
                         [](const auto& test) {
                           return test.param == SmallKind::decoder   ? "decoder"
                                  : test.param == SmallKind::encoder ? "encoder"
                                                                     : "translator";
                         });

}  // namespace
}  // namespace headlight
