// A program that fails as its argument says; tests/dist/fault.cmake looks at how the whole job ends.
//   die    the last rank kills itself while the others wait for it
//   throw  the last rank throws an error of its own
//   agree  all ranks refuse the call
//   leave  the last rank returns early, as if its work were done
#include <csignal>
#include <cstdio>
#include <cstring>

#include "headlight/dist.h"

int main(int argc, char** argv) {
  using headlight::dist::Group;
  const char* fault = argc > 1 ? argv[1] : "";
  Group world = Group::world({.timeout = 2});
  const bool last = world.rank() == world.size() - 1;
  return headlight::dist::run(world, [&](Group& group) {
    group.barrier();
    if (last && std::strcmp(fault, "die") == 0) std::raise(SIGKILL);
    if (last && std::strcmp(fault, "throw") == 0)
      throw headlight::Error(headlight::ErrorKind::resource, "test.memory",
                             "not enough memory for 12 tokens");
    if (last && std::strcmp(fault, "leave") == 0) return;
    headlight::Context ctx({.threads = 1});
    headlight::Tensor x({1, 4, 6, 8});
    headlight::AttentionOptions options;
    if (std::strcmp(fault, "agree") == 0) options.softcap = -1;
    headlight::dist::attention_forward(ctx, group, x, x, x, options, {}, headlight::Tensor(x.shape()).view());
    std::printf("rank %d has finished\n", group.rank());
  });
}
