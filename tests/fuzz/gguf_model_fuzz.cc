// Any bytes as a GGUF model: its metadata become a config and its vocabulary a tokenizer that encodes and
// decodes, or both are refused by Error. Small models are made and their parameters planned as well.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "headlight/error.h"
#include "models/families.h"
#include "models/load.h"
#include "models/tokenizer_gguf.h"

namespace {

using namespace headlight;

template <class Call>
void input_or_fine(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  input_or_fine([&] {
    const io::Gguf file = io::Gguf::parse({bytes.begin(), bytes.end()}, "fuzz");
    input_or_fine([&] {
      const models::DescribedTransformer described = models::describe_gguf(file);
      const models::GgufWeights weights(file);
      const auto model = models::make_transformer(described.config, weights);
      (void)models::plan_parameters(weights, model->parameters(),
                                    &models::names_of(described.config, models::Files::gguf));
    });
    input_or_fine([&] {
      const auto vocabulary = models::read_gguf_vocabulary(file);
      if (!vocabulary) return;
      const Tokenizer tokenizer = models::tokenizer_from_gguf(*vocabulary, "fuzz");
      (void)tokenizer.decode(tokenizer.encode("a b\n"));
    });
  });
  return 0;
}
