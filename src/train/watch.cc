#include "train/watch.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/trace.h"
#include "io/file.h"
#include "io/folder_writer.h"
#include "io/json_writer.h"
#include "io/npy.h"
#include "io/outputs.h"
#include "train/run_folder.h"

namespace headlight::train {
namespace {

// Weights of all heads, layer by layer, for each part of the model.
class Recorder : public Observer {
 public:
  struct Part {
    std::vector<float> weights;
    Index layers = 0, heads = 0, queries = 0, keys = 0;
  };
  void on_attention(const AttentionEvent& event) override {
    Part& part = parts[std::string(name_of(event.part))];
    part.heads = event.q.dim(1);
    part.queries = event.queries(0);
    part.keys = event.keys(0);
    ++part.layers;
    for (Index head = 0; head < part.heads; ++head) {
      const Tensor weights = event.weights(0, head);
      for (Index i = 0; i < part.queries; ++i)
        for (Index j = 0; j < part.keys; ++j) part.weights.push_back(static_cast<float>(weights.at(i, j)));
    }
  }
  std::map<std::string, Part> parts;
};

void write_tokens(io::JsonWriter& w, const Tokenizer& tokenizer, const models::Tokens& tokens) {
  w.begin_list();
  for (const std::int32_t id : tokens.ids) w.value(tokenizer.token(id));
  w.end_list();
}

}  // namespace

Watcher::Watcher(const models::Transformer& model, const Tokenizer& tokenizer, const SpecialIds& special,
                 Index longest, const std::vector<std::string>& sentences, std::string folder)
    : model_(model), folder_(std::move(folder)) {
  const bool translates = model.config().kind == models::ModelKind::encoder_decoder;
  const auto encoded = [&](std::string_view text) {
    return tokenizer.encode(text, SpecialTokens::leave_out);
  };
  for (const std::string& text : sentences) {
    Sentence sentence;
    const std::size_t tab = text.find('\t');
    if (translates) {
      std::vector<TokenId> source = encoded(std::string_view(text).substr(0, tab));
      if (special.end) source.push_back(*special.end);
      sentence.source.append(source);
    }
    std::vector<TokenId> input;
    if (!translates) input = encoded(text);
    else if (tab != std::string::npos) input = encoded(std::string_view(text).substr(tab + 1));
    if (translates || model.config().kind == models::ModelKind::encoder) {
      if (special.begin) input.insert(input.begin(), *special.begin);
    }
    if (model.config().kind == models::ModelKind::encoder && special.end) input.push_back(*special.end);
    sentence.input.append(input);
    if (input.empty() || std::max(sentence.source.size(), sentence.input.size()) > longest) {
      throw Error(ErrorKind::input, "watch.length",
                  concat("output.watch: \"", escaped(text, 60), "\" has ",
                         std::max(sentence.source.size(), sentence.input.size()), " tokens; 1 to ", longest,
                         " can be watched"));
    }
    sentences_.push_back(std::move(sentence));
  }
  std::error_code problem;
  std::filesystem::create_directories(folder_, problem);
  if (problem) io::fail_file(folder_, "write", problem.value());
  write_sentences(tokenizer);
}

void Watcher::write_sentences(const Tokenizer& tokenizer) const {
  io::JsonWriter w;
  w.begin_list(io::JsonLayout::lines);
  for (const Sentence& sentence : sentences_) {
    write_tokens(w.begin_object().key("source"), tokenizer, sentence.source);
    write_tokens(w.key("input"), tokenizer, sentence.input);
    w.end_object();
  }
  const std::string text = w.end_list().take_line();
  io::Outputs outputs(io::Existing::replace);
  outputs.reserve(folder_ + "/sentences.json");
  outputs.write(folder_ + "/sentences.json", std::as_bytes(std::span(text)));
  outputs.commit();
}

void Watcher::write(Context& ctx, std::int64_t step) const {
  io::FolderWriter writer(folder_, RunFolder::checkpoint_name(step));
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    Recorder recorder;
    const Sentence& sentence = sentences_[i];
    if (sentence.source.sequences() > 0)
      (void)model_.logits(ctx, sentence.source, sentence.input, {.observer = &recorder});
    else (void)model_.logits(ctx, sentence.input, {.observer = &recorder});
    for (const auto& [name, part] : recorder.parts) {
      writer.begin(fmt::format("{}-{}.npy", i, name));
      writer.write(io::npy_header(DType::f32, {part.layers, part.heads, part.queries, part.keys}));
      writer.write(std::as_bytes(std::span(part.weights)));
      writer.end();
    }
  }
  writer.commit();
}

}  // namespace headlight::train
