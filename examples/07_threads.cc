// Which threads compute: a pool of the Context, one that two Contexts share, or OpenMP's. The bits are the same.
#include <headlight/headlight.h>
#include <omp.h>

#include <cstdio>
#include <cstring>
#include <memory>

namespace {

// A program that already has threads can pass them. The library numbers the workers; each takes tasks until none is left.
class OpenMp : public headlight::Executor {
 public:
  [[nodiscard]] int threads() const noexcept override { return omp_get_max_threads(); }
  void run(int workers, Work work) override {
#pragma omp parallel num_threads(workers)
    work(omp_get_thread_num());
  }
};

headlight::Tensor attend(headlight::Context& ctx, const headlight::Tensor& x) {
  headlight::Tensor out(x.shape());
  headlight::attention_forward(ctx, x, x, x, {.visible = headlight::Visibility::causal()}, out);
  return out;
}

}  // namespace

int main() {
  headlight::Tensor x({2, 8, 256, 32});
  const headlight::Index count = x.shape().elements();
  for (headlight::Index i = 0; i < count; ++i) x.as<float>()[i] = static_cast<float>(i * 7 % 101) / 101;

  headlight::Context own({.threads = 3});
  headlight::Context sharing({.threads = 2, .executor = own.executor()});
  headlight::Context openmp({.executor = std::make_shared<OpenMp>(), .scratch_limit = std::size_t{64} << 20});
  const headlight::Tensor expected = attend(own, x);
  bool same = true;
  for (headlight::Context* ctx : {&sharing, &openmp}) {
    const headlight::Tensor out = attend(*ctx, x);
    same = same && std::memcmp(out.as<float>(), expected.as<float>(),
                               sizeof(float) * static_cast<std::size_t>(count)) == 0;
  }
  std::printf("OpenMP and two pools of threads: %s bits\n", same ? "the same" : "DIFFERENT");
  openmp.release_scratch();
  std::printf("scratch held after release: %zu bytes\n", openmp.scratch_bytes());
  return same ? 0 : 1;
}
