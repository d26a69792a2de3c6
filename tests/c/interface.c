/* The C interface, called from C11. Ends with status 1 and the line of the first expectation that does not hold. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headlight/c/headlight.h"

#define EXPECT(condition)                                                                            \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      printf("%s:%d: not so: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, headlight_error_text()); \
      exit(1);                                                                                       \
    }                                                                                                \
  } while (0)

enum { TOKENS = 3, DIM = 3 };
static float words[TOKENS * DIM] = {0.43F, 0.15F, 0.89F, 0.55F, 0.87F, 0.66F, 0.57F, 0.85F, 0.64F};
static const int64_t word_shape[4] = {1, 1, TOKENS, DIM};
static const int64_t row_shape[3] = {1, 1, TOKENS};

static void test_forward_and_backward(void) {
  float out[TOKENS * DIM], lse[TOKENS], again[TOKENS * DIM], rows[TOKENS * TOKENS];
  const headlight_tensor x = headlight_contiguous(words, HEADLIGHT_F32, 4, word_shape);
  headlight_attention_options options;
  headlight_attention_options_init(&options, sizeof options);
  options.scale = 1.0;
  options.right = 0;
  headlight_attention_outputs outputs = {.size = sizeof outputs,
                                         .out = headlight_contiguous(out, HEADLIGHT_F32, 4, word_shape),
                                         .lse = headlight_contiguous(lse, HEADLIGHT_F32, 3, row_shape)};
  EXPECT(headlight_attention(NULL, &x, &x, &x, &options, &outputs) == HEADLIGHT_OK);
  EXPECT(fabsf(out[0] - 0.43F) < 1e-6F && fabsf(out[3] - 0.5058F) < 1e-4F && fabsf(out[6] - 0.5302F) < 1e-4F);

  headlight_context* context = NULL;
  EXPECT(headlight_context_new(2, &context) == HEADLIGHT_OK);
  outputs.out = headlight_contiguous(again, HEADLIGHT_F32, 4, word_shape);
  EXPECT(headlight_attention(context, &x, &x, &x, &options, &outputs) == HEADLIGHT_OK);
  EXPECT(memcmp(out, again, sizeof out) == 0);
  headlight_context_free(context);

  const headlight_slice all = {sizeof all, 0, 0, 0, TOKENS, 0, TOKENS};
  const int64_t square[2] = {TOKENS, TOKENS};
  const headlight_tensor weights = headlight_contiguous(rows, HEADLIGHT_F32, 2, square);
  EXPECT(headlight_attention_weights(NULL, &x, &x, &outputs.lse, &options, &all, &weights) == HEADLIGHT_OK);
  EXPECT(rows[1] == 0 && fabsf(rows[3] + rows[4] - 1) < 1e-6F);

  /* The gradient of the sum of all outputs with respect to v: each value's weights, summed over the queries. */
  float ones[TOKENS * DIM], dq[TOKENS * DIM], dk[TOKENS * DIM], dv[TOKENS * DIM];
  for (int i = 0; i < TOKENS * DIM; ++i) ones[i] = 1;
  const headlight_attention_saved saved = {sizeof saved, x, x, x, outputs.out, outputs.lse};
  const headlight_tensor dout = headlight_contiguous(ones, HEADLIGHT_F32, 4, word_shape);
  const headlight_attention_grads grads = {.size = sizeof grads,
                                           .dq = headlight_contiguous(dq, HEADLIGHT_F32, 4, word_shape),
                                           .dk = headlight_contiguous(dk, HEADLIGHT_F32, 4, word_shape),
                                           .dv = headlight_contiguous(dv, HEADLIGHT_F32, 4, word_shape)};
  EXPECT(headlight_attention_backward(NULL, &saved, &dout, &options, &grads) == HEADLIGHT_OK);
  EXPECT(fabsf(dv[0] - (rows[0] + rows[3] + rows[6])) < 1e-5F);
}

static void test_cache(void) {
  float out[TOKENS * DIM], whole[TOKENS * DIM];
  const headlight_tensor x = headlight_contiguous(words, HEADLIGHT_F32, 4, word_shape);
  const headlight_cache_options options = {.size = sizeof options, .items = 1, .kv_heads = 1, .dim = DIM};
  headlight_cache* cache = NULL;
  EXPECT(headlight_cache_new(NULL, &options, &cache) == HEADLIGHT_OK);
  EXPECT(headlight_cache_append(cache, &x, &x) == HEADLIGHT_OK);
  int64_t length = 0, made = 0;
  EXPECT(headlight_cache_length(cache, 0, &length) == HEADLIGHT_OK && length == TOKENS);
  headlight_attention_options causal;
  headlight_attention_options_init(&causal, sizeof causal);
  causal.right = 0;
  headlight_attention_outputs outputs = {.size = sizeof outputs,
                                         .out = headlight_contiguous(out, HEADLIGHT_F32, 4, word_shape)};
  EXPECT(headlight_attention_decode(NULL, &x, cache, &causal, &outputs) == HEADLIGHT_OK);
  outputs.out = headlight_contiguous(whole, HEADLIGHT_F32, 4, word_shape);
  EXPECT(headlight_attention(NULL, &x, &x, &x, &causal, &outputs) == HEADLIGHT_OK);
  EXPECT(memcmp(out, whole, sizeof out) == 0);
  EXPECT(headlight_cache_fork(cache, 0, &made) == HEADLIGHT_OK && made == 1);
  EXPECT(headlight_cache_truncate(cache, 1, 1) == HEADLIGHT_OK);
  EXPECT(headlight_cache_length(cache, 7, &length) == HEADLIGHT_USAGE || headlight_error_text()[0] != '\0');
  EXPECT(headlight_cache_reset(cache) == HEADLIGHT_OK);
  headlight_cache_free(cache);
}

static void test_refusals(void) {
  float out[TOKENS * DIM];
  const headlight_tensor x = headlight_contiguous(words, HEADLIGHT_F32, 4, word_shape);
  headlight_tensor wrong = x;
  headlight_attention_outputs outputs = {.size = sizeof outputs,
                                         .out = headlight_contiguous(out, HEADLIGHT_F32, 4, word_shape)};
  EXPECT(headlight_attention(NULL, NULL, &x, &x, NULL, &outputs) == HEADLIGHT_USAGE);
  EXPECT(strstr(headlight_error_text(), "q is NULL") != NULL && strcmp(headlight_error_code(), "c.null") == 0);
  EXPECT(headlight_attention(NULL, &x, &x, &x, NULL, NULL) == HEADLIGHT_USAGE);
  wrong.shape[3] = 2;
  EXPECT(headlight_attention(NULL, &x, &wrong, &x, NULL, &outputs) == HEADLIGHT_INPUT);
  EXPECT(strcmp(headlight_error_code(), "attention.dim") == 0);
  wrong.rank = 9;
  EXPECT(headlight_attention(NULL, &x, &wrong, &x, NULL, &outputs) == HEADLIGHT_USAGE);
  wrong = x;
  wrong.dtype = 99;
  EXPECT(headlight_attention(NULL, &x, &wrong, &x, NULL, &outputs) == HEADLIGHT_USAGE);
  wrong = x;
  wrong.data = NULL;
  EXPECT(headlight_attention(NULL, &x, &wrong, &x, NULL, &outputs) == HEADLIGHT_INPUT);
  outputs.size = 0;
  EXPECT(headlight_attention(NULL, &x, &x, &x, NULL, &outputs) == HEADLIGHT_USAGE);
  EXPECT(headlight_context_new(-4, NULL) == HEADLIGHT_USAGE);
  headlight_model* model = NULL;
  EXPECT(headlight_model_open("/nowhere", NULL, &model) != HEADLIGHT_OK && model == NULL);
  EXPECT(headlight_generate(NULL, NULL, NULL, 0, NULL, NULL, NULL) == HEADLIGHT_USAGE);
}

/* A caller that was compiled with an older header, and one with a newer header. */
static void test_sizes(void) {
  float out[TOKENS * DIM], old_out[TOKENS * DIM];
  const headlight_tensor x = headlight_contiguous(words, HEADLIGHT_F32, 4, word_shape);
  headlight_attention_options options;
  headlight_attention_options_init(&options, sizeof options);
  headlight_attention_outputs outputs = {.size = sizeof outputs,
                                         .out = headlight_contiguous(out, HEADLIGHT_F32, 4, word_shape)};
  options.right = 0;
  EXPECT(headlight_attention(NULL, &x, &x, &x, &options, &outputs) == HEADLIGHT_OK);
  memset(&options.softcap, 0xFF, sizeof options - offsetof(headlight_attention_options, softcap));
  options.size = offsetof(headlight_attention_options, softcap);
  outputs.size = offsetof(headlight_attention_outputs, lse);
  outputs.out = headlight_contiguous(old_out, HEADLIGHT_F32, 4, word_shape);
  EXPECT(headlight_attention(NULL, &x, &x, &x, &options, &outputs) == HEADLIGHT_OK);
  EXPECT(memcmp(out, old_out, sizeof out) == 0);
  struct {
    headlight_attention_options known;
    double later;
  } newer;
  headlight_attention_options_init(&newer.known, sizeof newer);
  EXPECT(headlight_attention(NULL, &x, &x, &x, &newer.known, &outputs) == HEADLIGHT_OK);
  newer.later = 1;
  EXPECT(headlight_attention(NULL, &x, &x, &x, &newer.known, &outputs) == HEADLIGHT_USAGE);
}

static int32_t count_token(void* user, int32_t id, double log_probability, const char* text, size_t length) {
  (void)id, (void)text, (void)length;
  EXPECT(log_probability <= 0);
  return ++*(int*)user < 4;
}

static void test_model(const char* folder) {
  headlight_model* model = NULL;
  EXPECT(headlight_model_open("en", folder, &model) == HEADLIGHT_OK);
  headlight_model_info info = {.size = sizeof info};
  EXPECT(headlight_model_get_info(model, &info) == HEADLIGHT_OK && info.kind == HEADLIGHT_DECODER_MODEL);
  int64_t layers = 0, heads = 0, queries = 0, keys = 0, positions = 0;
  EXPECT(headlight_model_part(model, HEADLIGHT_DECODER, &layers, &heads) == HEADLIGHT_OK && layers > 0 && heads > 0);
  int32_t ids[64];
  size_t count = 0, length = 0;
  char text[64];
  EXPECT(headlight_model_encode(model, "The cat sat.", ids, 64, &count) == HEADLIGHT_OK && count > 3 && count < 64);
  EXPECT(headlight_model_decode(model, ids, count, text, sizeof text, &length) == HEADLIGHT_OK);
  EXPECT(strcmp(text, "The cat sat.") == 0);
  headlight_run* run = NULL;
  EXPECT(headlight_run_ids(NULL, model, ids, count, NULL, 0, &run) == HEADLIGHT_OK);
  EXPECT(headlight_run_size(run, HEADLIGHT_DECODER, &queries, &keys) == HEADLIGHT_OK && queries == (int64_t)count);
  EXPECT(headlight_run_positions(run, &positions) == HEADLIGHT_OK && positions == queries);
  float* rows = malloc((size_t)(queries * keys) * sizeof *rows);
  const int64_t square[2] = {queries, keys};
  headlight_tensor weights = headlight_contiguous(rows, HEADLIGHT_F32, 2, square);
  EXPECT(headlight_run_weights(NULL, run, HEADLIGHT_DECODER, layers - 1, heads - 1, &weights) == HEADLIGHT_OK);
  float sum = 0;
  for (int64_t j = 0; j < keys; ++j) sum += rows[(queries - 1) * keys + j];
  EXPECT(fabsf(sum - 1) < 1e-5F);
  EXPECT(headlight_run_weights(NULL, run, HEADLIGHT_DECODER, layers, 0, &weights) == HEADLIGHT_USAGE);
  EXPECT(headlight_run_weights(NULL, run, HEADLIGHT_CROSS, 0, 0, &weights) == HEADLIGHT_USAGE);
  weights.shape[0] -= 1;
  EXPECT(headlight_run_weights(NULL, run, HEADLIGHT_DECODER, 0, 0, &weights) == HEADLIGHT_USAGE);
  free(rows);
  int written = 0;
  headlight_generate_options options;
  headlight_generate_options_init(&options, sizeof options);
  EXPECT(headlight_generate(NULL, model, ids, count, &options, count_token, &written) == HEADLIGHT_OK && written == 4);
  headlight_run_free(run);
  headlight_model_free(model);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2 && headlight_version()[0] != '\0');
  test_forward_and_backward();
  test_cache();
  test_refusals();
  test_sizes();
  test_model(argv[1]);
  puts("the C interface does what it says");
  return 0;
}
