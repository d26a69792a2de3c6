// A model, its prompt, and one forward pass that can be queried afterwards.
//
//   const headlight::Model model = headlight::Model::open("models/gpt2");
//   headlight::Context ctx;
//   const headlight::Run run = headlight::attend(ctx, model, {.text = "The cat sat on the mat."});
//   const headlight::Tensor weights = run.weights({headlight::Part::decoder, 2, 5});  // [query, key]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/head_place.h"
#include "headlight/prediction.h"
#include "headlight/progress.h"
#include "headlight/tensor.h"
#include "headlight/tokenizer.h"
#include "headlight/trace.h"

#pragma GCC visibility push(default)

namespace headlight {

enum class ModelKind : std::uint8_t { decoder, encoder, encoder_decoder };
[[nodiscard]] std::string_view name_of(ModelKind kind) noexcept;  // "encoder_decoder"

// One kind of attention in a model.
struct PartInfo {
  Part part = Part::decoder;
  std::vector<Index> heads = {};  // of each layer
  [[nodiscard]] Index layers() const noexcept { return static_cast<Index>(heads.size()); }
};

struct ModelInfo {
  std::string name, path;  // path: the folder or .gguf file
  std::string family;      // "gpt2", "llama", …
  ModelKind kind = ModelKind::decoder;
  std::vector<PartInfo> parts = {};
  Index width = 0, vocabulary = 0;
  Index context = 0;        // maximum number of tokens; 0: no known limit
  double parameters = 0;    // without fixed numbers such as sinusoidal positions
  std::uint64_t bytes = 0;  // memory of all parameters, including mapped files
  Index sound_bands = 0,
        sound_frames = 0;  // shape of the audio features that a speech model reads; 0: it reads text
  bool has_logits = true;  // false: the files have no prediction head
  bool recurrent = false;  // has no heads; only translate() accepts it
  std::vector<std::string> notices = {};  // about the files: assumptions and omissions

  [[nodiscard]] const PartInfo* find(Part part) const noexcept;  // null: the model does not have this part
};

struct OpenOptions {
  std::vector<std::string> places = {};  // folders to search for a name, as NAME and headlight-NAME
  std::string name = {};                 // name of the model; empty: that of its folder or file
  bool recurrent_too = false;            // false: a recurrent model is an error, because it has no heads
};

struct [[gnu::visibility("hidden")]] ModelState;  // src/session

// Cheap to copy: copies share the parameters. Immutable, so any number of threads may use one at the same time,
// each with its own Context.
class Model {
 public:
  // A folder (config.json and safetensors), a .gguf file, or a name. Throws Error.
  [[nodiscard]] static Model open(const std::string& path_or_name, const OpenOptions& options = {});

  [[nodiscard]] const ModelInfo& info() const noexcept;
  [[nodiscard]] const Tokenizer* tokenizer() const noexcept;  // null: only token ids are accepted

  explicit Model(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  [[nodiscard]] const ModelState& state() const noexcept { return *state_; }  // for the library itself

 private:
  std::shared_ptr<const ModelState> state_;
};

// The input of a model: text, or token ids instead.
struct Prompt {
  std::string text = {};
  std::string target = {};  // the translation; empty: the encoder-decoder generates its own
  std::string second = {};  // for encoders that read two texts
  std::vector<std::int32_t> ids = {};
  std::vector<std::int32_t> target_ids = {};    // the exact input of the decoder, including its start token
  std::vector<std::int32_t> type_ids = {};      // segments, one for each token
  std::vector<std::int32_t> continuation = {};  // tokens that a decoder has generated after the text
  // Instead of text, for speech models: [sound_bands, sound_frames] of f32.
  std::shared_ptr<const Tensor> features = nullptr;
};

struct Token {
  TokenId id = 0;
  std::string text;                // readable; special tokens and parts of characters by their names
  std::size_t begin = 0, end = 0;  // its bytes in the text
  bool special = false;            // added around the text by the tokenizer
  std::int32_t type = 0;           // 1 in the second of two texts, for models that distinguish them
  Index word = 0;                  // index of its word
};

struct Word {
  std::string text;
  Range tokens;
};

struct TokenizedText {
  std::string text;  // empty if ids were given; both texts of a pair
  std::vector<Token> tokens = {};
  std::vector<Word> words = {};
  Index second = 0;  // first token of the second text; 0: there is one text
  [[nodiscard]] Index size() const noexcept { return static_cast<Index>(tokens.size()); }
};

// How an encoder-decoder generates a missing translation.
struct DrawOptions {
  double temperature = 0;  // 0: the best result of a beam search
  Index top_k = 0;         // 0: all tokens
  std::uint64_t seed = 0;
};

struct AttendOptions {
  std::vector<Part> parts = {};  // parts to keep; empty: all. With the encoder only, nothing is translated
  bool decode = false;           // run the decoder of an encoder-decoder in any case
  bool keep_inputs = true;       // also keep the input of each layer, which explain() needs
  bool keep_attention = true;    // false: only logits are available
  Observer* observer = nullptr;  // called during the run
  Intervention* intervention = nullptr;
  DrawOptions draw = {};
  Progress progress = {};
};

// Statistics for each query or key of a head.
struct HeadStatistics {
  std::vector<float> entropy;         // of each query, nats, including the sink
  std::vector<float> largest_weight;  // of each query
  std::vector<Index> largest_key;     // its key; -1: the query sees nothing
  std::vector<float> received;        // of each key: sum of its weights over all queries
};

struct [[gnu::visibility("hidden")]] RunState;  // src/session

// One forward pass. It keeps queries, keys, values and log-sum-exps, from which the weights of any head are recomputed,
// with the same bits, on request; and hidden states instead of logits. Cheap to copy, immutable.
// An empty Range means everything. A Context passed to a function affects only threads: numbers are those of the SIMD
// target of the run.
class Run {
 public:
  [[nodiscard]] const Model& model() const noexcept;
  [[nodiscard]] std::span<const Part> parts() const noexcept;  // that were kept
  [[nodiscard]] bool has(Part part) const noexcept;

  [[nodiscard]] const TokenizedText& source() const noexcept;
  [[nodiscard]] const TokenizedText& target()
      const noexcept;  // the output of an encoder-decoder; empty: none
  [[nodiscard]] const TokenizedText& queries(Part part) const;   // rows of a weight matrix of this part
  [[nodiscard]] const TokenizedText& keys(Part part) const;      // columns
  [[nodiscard]] Index positions() const noexcept;                // that have logits; 0: the run has none
  [[nodiscard]] ConstTensorView hidden_states() const noexcept;  // [position, width], before the logits
  // The token of each position: the one that the position predicts, or with predicts_next() the one before that.
  [[nodiscard]] const TokenizedText& position_tokens() const noexcept;
  [[nodiscard]] bool predicts_next() const noexcept;

  [[nodiscard]] Tensor logits(Range positions = {}, Context& ctx = default_context()) const;
  // The `count` most likely tokens at a position.
  [[nodiscard]] Prediction prediction(Index position, Index count, Context& ctx = default_context()) const;

  [[nodiscard]] Tensor weights(const Head& head, Range queries = {}, Range keys = {},
                               Context& ctx = default_context()) const;
  // Before the softmax, in float64 and then rounded; -inf where the query cannot see the key.
  [[nodiscard]] Tensor scores(const Head& head, Range queries = {}, Range keys = {}) const;
  [[nodiscard]] Tensor values(const Head& head) const;  // [key, value width]
  [[nodiscard]] HeadStatistics statistics(const Head& head, Context& ctx = default_context()) const;
  // The weights pooled into the given number of cells: each is the mean or the largest of its area.
  [[nodiscard]] Tensor heat_map(const Head& head, Index rows, Index columns, Pool pool = Pool::max,
                                Context& ctx = default_context()) const;
  // Calls the observer with the attention of every kept layer, as during the run.
  void replay(Observer& observer, Context& ctx = default_context()) const;

  [[nodiscard]] std::size_t bytes() const noexcept;  // memory it holds

  explicit Run(std::shared_ptr<const RunState> state) : state_(std::move(state)) {}
  [[nodiscard]] const RunState& state() const noexcept { return *state_; }  // for the library itself

 private:
  std::shared_ptr<const RunState> state_;
};

// Throws Error{usage} for a prompt that does not fit the model, Error{input} for one that is too long, Cancelled.
[[nodiscard]] Run attend(Context& ctx, const Model& model, const Prompt& prompt,
                         const AttendOptions& options = {});
// The run in which an encoder-decoder generates these tokens for the text. The end token is added if there is room.
[[nodiscard]] Run attend_written(Context& ctx, const Model& model, const std::string& text,
                                 std::vector<TokenId> written, const AttendOptions& options = {});

}  // namespace headlight

#pragma GCC visibility pop
