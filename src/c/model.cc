// Models, runs and generation.
#include <algorithm>

#include "c/common.h"
#include "headlight/write.h"

namespace headlight::c {
namespace {

const Tokenizer& tokenizer_of(const headlight_model* model) {
  const Tokenizer* tokenizer = given(model, "model").model.tokenizer();
  if (tokenizer != nullptr) return *tokenizer;
  throw Error(ErrorKind::usage, "c.tokenizer",
              "the model has no tokenizer; give token ids in place of a text");
}

std::vector<std::int32_t> ids_of(const std::int32_t* ids, std::size_t count, const char* name) {
  const std::span<const std::int32_t> list = span_of(ids, count, name);
  return {list.begin(), list.end()};
}

// Copies a result into the caller's memory.
void write_out(const Tensor& from, const headlight_tensor* to, const char* name) {
  const TensorView view = view_of(to, name);
  Index below = 1;
  bool contiguous = view.rank() == from.rank();
  for (int axis = from.rank() - 1; contiguous && axis >= 0; --axis) {
    contiguous = view.dim(axis) == from.dim(axis) && (from.dim(axis) <= 1 || view.stride(axis) == below);
    below *= from.dim(axis);
  }
  if (!contiguous || view.dtype() != from.dtype() || (view.data() == nullptr && below > 0))
    throw Error(ErrorKind::usage, "c.result",
                concat(name, " must be ", headlight::name_of(from.dtype()), " ", from.shape().text(),
                       ", contiguous"));
  std::memcpy(view.data(), from.as<std::byte>(), static_cast<std::size_t>(below) * size_of(from.dtype()));
}

headlight_run* run_of(headlight_context* context, const headlight_model* model, const Prompt& prompt) {
  return new headlight_run{attend(context_of(context), given(model, "model").model, prompt)};
}

headlight_generate_options generate_defaults() {
  const GenerateOptions usual;
  headlight_generate_options o{};
  o.size = sizeof o;
  o.max_tokens = usual.max_tokens;
  o.top_p = usual.top_p;
  o.repetition_penalty = usual.repetition_penalty;
  return o;
}

}  // namespace
}  // namespace headlight::c

using namespace headlight::c;  // NOLINT: this file defines functions of C, which have no namespace

headlight_status headlight_model_open(const char* path_or_name, const char* folder, headlight_model** model) {
  return guarded([&] {
    given(model, "model") = nullptr;
    headlight::OpenOptions options;
    if (folder != nullptr) options.places.emplace_back(folder);
    *model = new headlight_model{headlight::Model::open(&given(path_or_name, "path_or_name"), options)};
  });
}
void headlight_model_free(headlight_model* model) { delete model; }

headlight_status headlight_model_get_info(const headlight_model* model, headlight_model_info* info) {
  return guarded([&] {
    const headlight::ModelInfo& from = given(model, "model").model.info();
    const std::size_t size = given(info, "info").size;
    if (size < sizeof size)
      throw headlight::Error(headlight::ErrorKind::usage, "c.size",
                             "info has no size; set size to sizeof the structure");
    headlight_model_info all{};
    all.size = size;
    all.kind = static_cast<std::int32_t>(from.kind);
    all.has_logits = from.has_logits ? 1 : 0;
    all.width = from.width;
    all.vocabulary = from.vocabulary;
    all.context = from.context;
    all.parameters = from.parameters;
    std::memset(info, 0, size);
    std::memcpy(info, &all, size < sizeof all ? size : sizeof all);
  });
}

headlight_status headlight_model_part(const headlight_model* model, std::int32_t part, std::int64_t* layers,
                                      std::int64_t* heads) {
  return guarded([&] {
    const headlight::PartInfo* found = given(model, "model").model.info().find(part_of(part));
    given(layers, "layers") = found == nullptr ? 0 : found->layers();
    given(heads, "heads") = found == nullptr || found->heads.empty() ? 0 : found->heads.front();
  });
}

headlight_status headlight_model_encode(const headlight_model* model, const char* text, std::int32_t* ids,
                                        std::size_t capacity, std::size_t* count) {
  return guarded([&] {
    const std::vector<headlight::TokenId> found = tokenizer_of(model).encode(&given(text, "text"));
    given(count, "count") = found.size();
    if (capacity > 0) std::copy_n(found.begin(), std::min(capacity, found.size()), &given(ids, "ids"));
  });
}

headlight_status headlight_model_decode(const headlight_model* model, const std::int32_t* ids,
                                        std::size_t count, char* text, std::size_t capacity,
                                        std::size_t* length) {
  return guarded([&] {
    const std::string found = tokenizer_of(model).decode(span_of(ids, count, "ids"));
    given(length, "length") = found.size();
    if (capacity == 0) return;
    const std::size_t bytes = std::min(capacity - 1, found.size());
    std::memcpy(&given(text, "text"), found.data(), bytes);
    text[bytes] = '\0';
  });
}

headlight_status headlight_run_text(headlight_context* context, const headlight_model* model,
                                    const char* text, headlight_run** run) {
  return guarded([&] {
    given(run, "run") = nullptr;
    *run = run_of(context, model, {.text = &given(text, "text")});
  });
}

headlight_status headlight_run_ids(headlight_context* context, const headlight_model* model,
                                   const std::int32_t* ids, std::size_t count, const std::int32_t* target_ids,
                                   std::size_t target_count, headlight_run** run) {
  return guarded([&] {
    given(run, "run") = nullptr;
    *run = run_of(
        context, model,
        {.ids = ids_of(ids, count, "ids"), .target_ids = ids_of(target_ids, target_count, "target_ids")});
  });
}
void headlight_run_free(headlight_run* run) { delete run; }

headlight_status headlight_run_size(const headlight_run* run, std::int32_t part, std::int64_t* queries,
                                    std::int64_t* keys) {
  return guarded([&] {
    const headlight::Run& from = given(run, "run").run;
    given(queries, "queries") = from.queries(part_of(part)).size();
    given(keys, "keys") = from.keys(part_of(part)).size();
  });
}

headlight_status headlight_run_positions(const headlight_run* run, std::int64_t* positions) {
  return guarded([&] { given(positions, "positions") = given(run, "run").run.positions(); });
}

headlight_status headlight_run_weights(headlight_context* context, const headlight_run* run,
                                       std::int32_t part, std::int64_t layer, std::int64_t head,
                                       const headlight_tensor* weights) {
  return guarded([&] {
    constexpr std::int64_t most = INT32_MAX;
    const auto number = [&](std::int64_t n) {
      return static_cast<int>(std::clamp<std::int64_t>(n, -1, most));
    };
    const headlight::Head place{part_of(part), number(layer), number(head)};
    write_out(given(run, "run").run.weights(place, {}, {}, context_of(context)), weights, "weights");
  });
}

headlight_status headlight_run_logits(headlight_context* context, const headlight_run* run,
                                      std::int64_t begin, std::int64_t end, const headlight_tensor* logits) {
  return guarded([&] {
    if (begin >= end)
      throw headlight::Error(headlight::ErrorKind::usage, "c.range",
                             headlight::concat("positions ", begin, " to ", end, "; need begin < end"));
    write_out(given(run, "run").run.logits({begin, end}, context_of(context)), logits, "logits");
  });
}

void headlight_generate_options_init(headlight_generate_options* options, std::size_t size) {
  if (options == nullptr || size < sizeof size) return;
  std::memset(options, 0, size);
  const headlight_generate_options all = generate_defaults();
  std::memcpy(options, &all, size < sizeof all ? size : sizeof all);
  options->size = size;
}

headlight_status headlight_generate(headlight_context* context, const headlight_model* model,
                                    const std::int32_t* ids, std::size_t count,
                                    const headlight_generate_options* options, headlight_on_token on_token,
                                    void* user) {
  return guarded([&] {
    headlight_generate_options o = generate_defaults();
    if (options != nullptr) read_sized(options, o, "options");
    headlight::GenerateOptions call;
    call.max_tokens = o.max_tokens;
    call.temperature = o.temperature;
    call.top_k = o.top_k;
    call.top_p = o.top_p;
    call.min_p = o.min_p;
    call.repetition_penalty = o.repetition_penalty;
    call.seed = o.seed;
    if (on_token == nullptr)
      throw headlight::Error(headlight::ErrorKind::usage, "c.null", "on_token is NULL");
    call.on_token = [&](const headlight::GeneratedToken& token) {
      return on_token(user, token.id, token.log_probability, token.text.data(), token.text.size()) != 0;
    };
    const headlight::Prompt prompt{.ids = ids_of(ids, count, "ids")};
    (void)headlight::generate(context_of(context), given(model, "model").model, {&prompt, 1}, call);
  });
}
