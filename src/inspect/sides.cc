#include "inspect/sides.h"

namespace headlight::inspect {

Sides readings_of(const Subject& subject, const Question& question, Part part) {
  const bool translates = subject.model->config().kind == models::ModelKind::encoder_decoder;
  if (part == Part::encoder || !translates) return {question.source, question.source};
  if (part == Part::cross) return {question.written, question.source};
  const Reading input = decoder_input(subject, question.written);
  return {input, input};
}

}  // namespace headlight::inspect
