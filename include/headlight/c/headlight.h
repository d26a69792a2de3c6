/* The C interface of Headlight: attention, key/value caches and models, for C and every language that calls C.

     headlight_tensor x = headlight_contiguous(data, HEADLIGHT_F32, 4, (int64_t[]){1, 1, 3, 8});
     headlight_attention_options options;
     headlight_attention_options_init(&options, sizeof options);
     options.right = 0;                                           // causal
     headlight_attention_outputs outputs = {.size = sizeof outputs, .out = out};
     if (headlight_attention(NULL, &x, &x, &x, &options, &outputs) != HEADLIGHT_OK) puts(headlight_error_text());

   Functions that can fail return a headlight_status; no exception leaves the library. Handles are opaque. Structures begin
   with their size, so that later versions can add members at the end: members that a caller does not know have their
   defaults. There are no bit-fields and no variable arguments; enumerations are 32-bit integers. */
#ifndef HEADLIGHT_C_HEADLIGHT_H
#define HEADLIGHT_C_HEADLIGHT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADLIGHT_API __attribute__((visibility("default")))

typedef int32_t headlight_status;
enum {
  HEADLIGHT_OK = 0,
  HEADLIGHT_USAGE = 1,    /* invalid option or argument */
  HEADLIGHT_INPUT = 2,    /* invalid data: shapes, dtypes, damaged files */
  HEADLIGHT_FILE = 3,     /* file system error: missing, permission, disk full */
  HEADLIGHT_RESOURCE = 4, /* not enough memory, or another limit */
  HEADLIGHT_NUMERIC = 5,  /* a computation failed */
  HEADLIGHT_PEER = 6,     /* another process was lost */
  HEADLIGHT_INTERNAL = 7  /* a defect of the library */
};

HEADLIGHT_API const char* headlight_version(void);
/* The message of the last failed call of this thread; valid until the next failed call. */
HEADLIGHT_API const char* headlight_error_text(void);
HEADLIGHT_API const char* headlight_error_code(void); /* a stable name: "attention.heads" */

/* Tensors: the caller owns the memory. Rank 0 means "not given". Strides count elements; the last must be 1. */
enum {
  HEADLIGHT_F32 = 0,
  HEADLIGHT_F64 = 1,
  HEADLIGHT_F16 = 2,
  HEADLIGHT_BF16 = 3,
  HEADLIGHT_I32 = 4,
  HEADLIGHT_I64 = 5,
  HEADLIGHT_BOOL = 6 /* one byte */
};
typedef struct headlight_tensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[4];
  int64_t strides[4];
} headlight_tensor;
HEADLIGHT_API headlight_tensor headlight_contiguous(void* data, int32_t dtype, int32_t rank,
                                                    const int64_t* shape);

/* Threads and scratch memory. A context serves one thread at a time. NULL selects the calling thread's default context,
   which uses all cores. */
typedef struct headlight_context headlight_context;
HEADLIGHT_API headlight_status headlight_context_new(int32_t threads,
                                                     headlight_context** context); /* 0: all cores */
HEADLIGHT_API void headlight_context_free(headlight_context* context);

/* Attention. Each member means what the member of the same name means in headlight/attention.h. */
#define HEADLIGHT_UNBOUNDED ((int64_t)-1)
#define HEADLIGHT_AUTOMATIC INT64_MIN
typedef struct headlight_attention_options {
  size_t size;
  double scale;        /* NaN: 1/sqrt(dim) */
  int64_t left, right; /* keys before and after the query's own; HEADLIGHT_UNBOUNDED. right = 0: causal */
  int64_t prefix;      /* HEADLIGHT_UNBOUNDED: none */
  int64_t offset;      /* position of query 0; HEADLIGHT_AUTOMATIC: keys - queries */
  int64_t chunk;       /* 0: none */
  double softcap;      /* 0: none */
  headlight_tensor alibi_slopes, bias, mask, sinks;
  const int64_t *q_lengths, *k_lengths; /* for each batch item; NULL: all tokens */
  size_t q_length_count, k_length_count;
  const int64_t *q_starts, *k_starts; /* packed sequences; NULL: none */
  size_t q_start_count, k_start_count;
  double dropout; /* 0: none */
  uint64_t dropout_seed, dropout_layer;
} headlight_attention_options;
/* Defaults: no mask, all keys visible. `size` is sizeof the caller's structure. */
HEADLIGHT_API void headlight_attention_options_init(headlight_attention_options* options, size_t size);

typedef struct headlight_attention_outputs {
  size_t size;
  headlight_tensor out, lse, max, entropy, sink_weight, weights, topk_index, topk_weight, received;
} headlight_attention_outputs;
/* options may be NULL: the defaults. */
HEADLIGHT_API headlight_status headlight_attention(headlight_context* context, const headlight_tensor* q,
                                                   const headlight_tensor* k, const headlight_tensor* v,
                                                   const headlight_attention_options* options,
                                                   const headlight_attention_outputs* outputs);

typedef struct headlight_attention_saved {
  size_t size;
  headlight_tensor q, k, v, out, lse;
} headlight_attention_saved;
typedef struct headlight_attention_grads {
  size_t size;
  headlight_tensor dq, dk, dv, dbias, dsinks;
} headlight_attention_grads;
HEADLIGHT_API headlight_status headlight_attention_backward(headlight_context* context,
                                                            const headlight_attention_saved* saved,
                                                            const headlight_tensor* dout,
                                                            const headlight_attention_options* options,
                                                            const headlight_attention_grads* grads);

/* A section of one head's weights, recomputed from lse: [query_end - query_begin, key_end - key_begin]. */
typedef struct headlight_slice {
  size_t size;
  int64_t batch, head, query_begin, query_end, key_begin, key_end;
} headlight_slice;
HEADLIGHT_API headlight_status
headlight_attention_weights(headlight_context* context, const headlight_tensor* q, const headlight_tensor* k,
                            const headlight_tensor* lse, const headlight_attention_options* options,
                            const headlight_slice* slice, const headlight_tensor* weights);
/* Merges attention over other keys into (out, lse). */
HEADLIGHT_API headlight_status headlight_merge(headlight_context* context, const headlight_tensor* out,
                                               const headlight_tensor* lse, const headlight_tensor* other_out,
                                               const headlight_tensor* other_lse);

/* Keys and values of growing sequences. */
enum { HEADLIGHT_CACHE_F32 = 0, HEADLIGHT_CACHE_F16 = 1, HEADLIGHT_CACHE_BF16 = 2, HEADLIGHT_CACHE_INT8 = 3 };
typedef struct headlight_cache headlight_cache;
typedef struct headlight_cache_options {
  size_t size;
  int64_t items, kv_heads, dim;
  int64_t value_dim; /* 0: same as dim */
  int64_t capacity;  /* tokens per item; 0: grows as needed */
  int64_t window;    /* 0: keeps all tokens */
  int32_t type;
  int32_t reserved; /* 0 */
} headlight_cache_options;
HEADLIGHT_API headlight_status headlight_cache_new(headlight_context* context,
                                                   const headlight_cache_options* options,
                                                   headlight_cache** cache);
HEADLIGHT_API void headlight_cache_free(headlight_cache* cache);
HEADLIGHT_API headlight_status headlight_cache_append(headlight_cache* cache, const headlight_tensor* k,
                                                      const headlight_tensor* v);
HEADLIGHT_API headlight_status headlight_cache_length(const headlight_cache* cache, int64_t item,
                                                      int64_t* length);
HEADLIGHT_API headlight_status headlight_cache_truncate(headlight_cache* cache, int64_t item, int64_t length);
HEADLIGHT_API headlight_status headlight_cache_fork(headlight_cache* cache, int64_t item, int64_t* made);
HEADLIGHT_API headlight_status headlight_cache_reset(headlight_cache* cache);
/* Attention of the newest tokens over everything in the cache, including themselves: append first. */
HEADLIGHT_API headlight_status headlight_attention_decode(headlight_context* context,
                                                          const headlight_tensor* q,
                                                          const headlight_cache* cache,
                                                          const headlight_attention_options* options,
                                                          const headlight_attention_outputs* outputs);

/* Models. Any number of threads may use one. Texts are UTF-8 and end with a zero. */
enum { HEADLIGHT_DECODER_MODEL = 0, HEADLIGHT_ENCODER_MODEL = 1, HEADLIGHT_ENCODER_DECODER_MODEL = 2 };
enum { HEADLIGHT_ENCODER = 0, HEADLIGHT_DECODER = 1, HEADLIGHT_CROSS = 2 }; /* parts: which attention */
typedef struct headlight_model headlight_model;
/* A folder, a .gguf file, or a name that is looked up in `folder`, which may be NULL. */
HEADLIGHT_API headlight_status headlight_model_open(const char* path_or_name, const char* folder,
                                                    headlight_model** model);
HEADLIGHT_API void headlight_model_free(headlight_model* model);
typedef struct headlight_model_info {
  size_t size;
  int32_t kind;
  int32_t has_logits;
  int64_t width, vocabulary;
  int64_t context; /* maximum number of tokens; 0: no known limit */
  double parameters;
} headlight_model_info;
HEADLIGHT_API headlight_status headlight_model_get_info(const headlight_model* model,
                                                        headlight_model_info* info);
/* 0 layers: the model has no such part. */
HEADLIGHT_API headlight_status headlight_model_part(const headlight_model* model, int32_t part,
                                                    int64_t* layers, int64_t* heads);
/* Writes at most `capacity` ids and sets *count to the number of ids of the text. */
HEADLIGHT_API headlight_status headlight_model_encode(const headlight_model* model, const char* text,
                                                      int32_t* ids, size_t capacity, size_t* count);
/* Writes at most `capacity` bytes including a final zero, and sets *length to the length of the text without it. */
HEADLIGHT_API headlight_status headlight_model_decode(const headlight_model* model, const int32_t* ids,
                                                      size_t count, char* text, size_t capacity,
                                                      size_t* length);

/* One forward pass; weights and logits are computed from it on request. */
typedef struct headlight_run headlight_run;
HEADLIGHT_API headlight_status headlight_run_text(headlight_context* context, const headlight_model* model,
                                                  const char* text, headlight_run** run);
/* target_ids: the input of the decoder of an encoder-decoder; NULL for other models. */
HEADLIGHT_API headlight_status headlight_run_ids(headlight_context* context, const headlight_model* model,
                                                 const int32_t* ids, size_t count, const int32_t* target_ids,
                                                 size_t target_count, headlight_run** run);
HEADLIGHT_API void headlight_run_free(headlight_run* run);
HEADLIGHT_API headlight_status headlight_run_size(const headlight_run* run, int32_t part, int64_t* queries,
                                                  int64_t* keys);
HEADLIGHT_API headlight_status headlight_run_positions(const headlight_run* run, int64_t* positions);
/* f32 [queries, keys], contiguous. */
HEADLIGHT_API headlight_status headlight_run_weights(headlight_context* context, const headlight_run* run,
                                                     int32_t part, int64_t layer, int64_t head,
                                                     const headlight_tensor* weights);
/* f32 [end - begin, vocabulary], contiguous. */
HEADLIGHT_API headlight_status headlight_run_logits(headlight_context* context, const headlight_run* run,
                                                    int64_t begin, int64_t end,
                                                    const headlight_tensor* logits);

/* Generation. */
typedef struct headlight_generate_options {
  size_t size;
  int64_t max_tokens;
  double temperature; /* 0: always the most likely token */
  int64_t top_k;      /* 0: all */
  double top_p, min_p, repetition_penalty;
  uint64_t seed;
} headlight_generate_options;
HEADLIGHT_API void headlight_generate_options_init(headlight_generate_options* options, size_t size);
/* `text` has `length` bytes and no final zero: the text that is now printable. Return 0 to stop. */
typedef int32_t (*headlight_on_token)(void* user, int32_t id, double log_probability, const char* text,
                                      size_t length);
HEADLIGHT_API headlight_status headlight_generate(headlight_context* context, const headlight_model* model,
                                                  const int32_t* ids, size_t count,
                                                  const headlight_generate_options* options,
                                                  headlight_on_token on_token, void* user);

#ifdef __cplusplus
}
#endif

#endif
