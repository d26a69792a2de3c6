#include "inspect/sides.h"

namespace headlight::inspect {

Sides readings_of(const Subject& subject, const Question& question, Part part) {
  const bool translates = subject.model->config().kind == models::ModelKind::encoder_decoder;
  if (part == Part::encoder || !translates) return {question.source, question.source};
  const Reading input = decoder_input(subject, question);
  // A row of cross-attention goes by the token that it writes, where that is known.
  if (part == Part::cross)
    return {question.written.tokens.empty() ? input : question.written, question.source};
  return {input, input};
}

}  // namespace headlight::inspect
