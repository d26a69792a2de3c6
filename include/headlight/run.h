// A model, what it is given, and one forward pass that can be asked about afterwards.
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
  Index context = 0;                      // tokens it reads at most; 0: no limit is known
  double parameters = 0;                  // fixed numbers such as sinusoidal positions are not counted
  std::uint64_t bytes = 0;                // of all parameters as they are held, mapped files included
  bool has_logits = true;                 // false: the files have no output head
  bool recurrent = false;                 // it has no heads; translate() alone takes it
  std::vector<std::string> notices = {};  // about the files: what was assumed or left out

  [[nodiscard]] const PartInfo* find(Part part) const noexcept;  // null: the model does not have it
};

struct OpenOptions {
  std::vector<std::string> places = {};  // folders in which a name is looked up, as NAME and headlight-NAME
  std::string name = {};                 // what the model is called; empty: as its folder or file
  bool recurrent_too = false;            // else a recurrent model is refused: it has no heads to look into
};

struct [[gnu::visibility("hidden")]] ModelState;  // src/session

// Cheap to copy: copies share the parameters. Never changes, so that any number of threads may use one at the same time,
// each with a Context of its own.
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

// What a model is given: a text, or token ids in its place.
struct Prompt {
  std::string text = {};
  std::string target = {};  // the translation to look at; none: an encoder-decoder makes its own
  std::string second = {};  // for encoders that read two texts
  std::vector<std::int32_t> ids = {};
  std::vector<std::int32_t> target_ids = {};    // the decoder's input verbatim, its start token included
  std::vector<std::int32_t> type_ids = {};      // segments, one for each token
  std::vector<std::int32_t> continuation = {};  // tokens that a decoder has written after the text
};

struct Token {
  TokenId id = 0;
  std::string text;                // as people see it; special tokens and parts of characters by their names
  std::size_t begin = 0, end = 0;  // its bytes in the text
  bool special = false;            // put around the text by the tokenizer, not part of it
  std::int32_t type = 0;           // 1 in the second of two texts, where models tell them apart
  Index word = 0;                  // which of the words it belongs to
};

struct Word {
  std::string text;
  Range tokens;
};

struct TokenizedText {
  std::string text;  // empty when ids were given; of two texts both
  std::vector<Token> tokens = {};
  std::vector<Word> words = {};
  Index second = 0;  // the first token of the second text; 0: there is one text
  [[nodiscard]] Index size() const noexcept { return static_cast<Index>(tokens.size()); }
};

// How an encoder-decoder makes the translation that it was not given.
struct DrawOptions {
  double temperature = 0;  // 0: the best one that a beam search finds
  Index top_k = 0;         // 0: all tokens
  std::uint64_t seed = 0;
};

struct AttendOptions {
  std::vector<Part> parts = {};  // keep these only; none: all. The encoder alone: nothing is translated
  bool decode = false;           // run the decoder of an encoder-decoder in any case
  bool keep_inputs = true;       // also what each layer read, which explain() needs
  bool keep_attention = true;    // false: logits alone can be asked for
  Observer* observer = nullptr;  // sees the run as it happens
  Intervention* intervention = nullptr;
  DrawOptions draw = {};
  Progress progress = {};
};

// One row of numbers for each query or key of a head.
struct HeadStatistics {
  std::vector<float> entropy;         // of each query, nats; the sink counts
  std::vector<float> largest_weight;  // of each query
  std::vector<Index> largest_key;     // where that is; -1: the query sees nothing
  std::vector<float> received;        // of each key: the sum of its weights over all queries
};

struct [[gnu::visibility("hidden")]] RunState;  // src/session

// One forward pass. It keeps queries, keys, values and log-sum-exps, from which the weights of any head are computed
// again, to the same bits, when they are asked for; and hidden states in place of logits. Cheap to copy; never changes.
// An empty Range means everything. A Context given to a function decides about threads only: numbers are those of the
// SIMD target that the run was made on.
class Run {
 public:
  [[nodiscard]] const Model& model() const noexcept;
  [[nodiscard]] std::span<const Part> parts() const noexcept;  // that were kept
  [[nodiscard]] bool has(Part part) const noexcept;

  [[nodiscard]] const TokenizedText& source() const noexcept;
  [[nodiscard]] const TokenizedText& target()
      const noexcept;  // what an encoder-decoder writes; empty: nothing
  [[nodiscard]] const TokenizedText& queries(Part part) const;   // rows of a part's weights
  [[nodiscard]] const TokenizedText& keys(Part part) const;      // columns
  [[nodiscard]] Index positions() const noexcept;                // that have logits; 0: the run has none
  [[nodiscard]] ConstTensorView hidden_states() const noexcept;  // [position, width], what logits are made of
  // A token for each position: the one that the position predicts, or with predicts_next() the one before that.
  [[nodiscard]] const TokenizedText& position_tokens() const noexcept;
  [[nodiscard]] bool predicts_next() const noexcept;

  [[nodiscard]] Tensor logits(Range positions = {}, Context& ctx = default_context()) const;
  // The `count` likeliest tokens at a position.
  [[nodiscard]] Prediction prediction(Index position, Index count, Context& ctx = default_context()) const;

  [[nodiscard]] Tensor weights(const Head& head, Range queries = {}, Range keys = {},
                               Context& ctx = default_context()) const;
  // Before the softmax, in float64 and then rounded; -inf where the query cannot see the key.
  [[nodiscard]] Tensor scores(const Head& head, Range queries = {}, Range keys = {}) const;
  [[nodiscard]] Tensor values(const Head& head) const;  // [key, value width]
  [[nodiscard]] HeadStatistics statistics(const Head& head, Context& ctx = default_context()) const;
  // The weights in as many cells: each is the mean or the largest of its block.
  [[nodiscard]] Tensor heat_map(const Head& head, Index rows, Index columns, Pool pool = Pool::max,
                                Context& ctx = default_context()) const;
  // Calls the observer with the attention of every layer that was kept, as it was called during the run.
  void replay(Observer& observer, Context& ctx = default_context()) const;

  [[nodiscard]] std::size_t bytes() const noexcept;  // of memory that it holds

  explicit Run(std::shared_ptr<const RunState> state) : state_(std::move(state)) {}
  [[nodiscard]] const RunState& state() const noexcept { return *state_; }  // for the library itself

 private:
  std::shared_ptr<const RunState> state_;
};

// Throws Error{usage} for a prompt that the model cannot be given, Error{input} for one that is too long, Cancelled.
[[nodiscard]] Run attend(Context& ctx, const Model& model, const Prompt& prompt,
                         const AttendOptions& options = {});
// The run in which an encoder-decoder writes these tokens for the text. The end is added where there is room for it.
[[nodiscard]] Run attend_written(Context& ctx, const Model& model, const std::string& text,
                                 std::vector<TokenId> written, const AttendOptions& options = {});

}  // namespace headlight

#pragma GCC visibility pop
