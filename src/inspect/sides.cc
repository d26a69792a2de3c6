#include "inspect/sides.h"

namespace headlight::inspect {

Sides sides_of(const LoadedModel& loaded, const ModelInput& input, Part part) {
  const bool translates = loaded.model->config().kind == models::ModelKind::encoder_decoder;
  if (part == Part::encoder || !translates) return {input.source, input.source};
  const EncodedText read = decoder_input(loaded, input);
  // A row of cross-attention is labelled with the token that it writes, if known.
  if (part == Part::cross) return {input.written.tokens.empty() ? read : input.written, input.source};
  return {read, read};
}

}  // namespace headlight::inspect
