#include <cstdio>

#include "headlight/model.h"
#include "headlight/version.h"

// Everything that model.h declares can be linked; without a model to open, the error says where it was looked for.
int main() {
  try {
    const headlight::Model model = headlight::Model::open("no such model");
    headlight::Context ctx;
    const headlight::Run run = headlight::attend(ctx, model, {.text = "a cat"});
    const headlight::FirstLook look = headlight::first_look(run);
    (void)headlight::explain(run, {.head = look.head});
    (void)headlight::find_links(run, {.link = "a->cat"});
    (void)headlight::compare(run, run);
    (void)headlight::ablate(ctx, run, {});
    (void)headlight::sweep(ctx, run);
    (void)headlight::generate(ctx, model, {});
    (void)headlight::translate(ctx, model, {});
    (void)headlight::figure(run, {});
    return 1;
  } catch (const headlight::Error& error) {
    if (error.kind() != headlight::ErrorKind::file) return 1;
  }
  std::printf("consumed headlight %s\n", headlight::kVersion);
}
