// Opening a model, its tokenizer, and values that all queries share.
#include "bindings/model.h"

#include "core/concat.h"
#include "session/state.h"

namespace headlight::python {
namespace {

// Converts offsets in UTF-8 bytes to offsets in characters, which Python uses.
class CharacterPlaces {
 public:
  explicit CharacterPlaces(std::string_view text) : text_(text) {}
  // Usually called with increasing positions.
  [[nodiscard]] Index of(std::size_t byte) {
    if (byte < byte_) byte_ = 0, characters_ = 0;
    for (; byte_ < byte && byte_ < text_.size(); ++byte_)
      if ((static_cast<unsigned char>(text_[byte_]) & 0xC0) != 0x80) ++characters_;
    return characters_;
  }

 private:
  std::string_view text_;
  std::size_t byte_ = 0;
  Index characters_ = 0;
};

Dict info_of(const Model& model) {
  const ModelInfo& info = model.info();
  Dict parts, out;
  for (const PartInfo& part : info.parts) parts.set(from_part(part.part), to_python(part.heads));
  out["name"] = from_text(info.name);
  out["path"] = from_text(info.path);
  out["family"] = from_text(info.family);
  out["kind"] = from_text(name_of(info.kind));
  out["parts"] = parts;
  out["width"] = info.width;
  out["vocabulary"] = info.vocabulary;
  out["context"] = info.context;
  out["parameters"] = static_cast<Index>(info.parameters);
  out["nbytes"] = info.bytes;
  out["has_logits"] = info.has_logits;
  out["notices"] = list_of(info.notices, from_text);
  return out;
}

const Tokenizer& tokenizer_of(const Model& model) {
  if (model.tokenizer() != nullptr) return *model.tokenizer();
  throw Error(ErrorKind::usage, "python.tokenizer",
              concat("\"", model.info().name, "\" has no tokenizer; give token ids in place of a text"));
}

Model open_model(const std::string& path, const std::vector<std::string>& places) {
  const ReleaseLock free;
  return Model::open(path, {.places = places});
}

Run attend_prompt(const Model& model, const Dict& prompt, const Object& parts, bool keep_inputs,
                  const Object& observe, const Object& intervene, const Object& threads) {
  const Prompt given = to_prompt(prompt);
  const std::unique_ptr<Observer> observer = observer_of(observe);
  const std::unique_ptr<Intervention> intervention = intervention_of(intervene);
  AttendOptions options{.keep_inputs = keep_inputs,
                        .observer = observer.get(),
                        .intervention = intervention.get(),
                        .progress = progress_of(none())};
  if (!parts.is_none())
    for (const Object& part : parts) options.parts.push_back(to_part(part));
  Context& ctx = context_for(threads);
  const ReleaseLock free;
  return attend(ctx, model, given, options);
}

}  // namespace

std::string to_text(Handle value, const char* name) {
  if (PyUnicode_Check(value.ptr()) == 0)
    throw Error(ErrorKind::usage, "python.text", concat(name, " is ", repr_of(value), "; need a str"));
  const Object bytes = Object::taken_or_empty(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "replace"));
  if (!bytes) throw PythonError();
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

Str from_text(std::string_view text) { return Str(text); }

std::vector<std::string> to_texts(Handle values, const char* name) {
  std::vector<std::string> out;
  if (values.is_none()) return out;
  if (PyUnicode_Check(values.ptr()) != 0 || PyObject_HasAttrString(values.ptr(), "__iter__") == 0)
    throw Error(ErrorKind::usage, "python.texts",
                concat(name, " is ", repr_of(values), "; need a list of strings"));
  for (const Object& value : values) out.push_back(to_text(value, name));
  return out;
}

std::vector<std::int32_t> to_ids(Handle values, const char* name) {
  std::vector<std::int32_t> out;
  for (const Index id : to_indices(values, name)) {
    if (id < INT32_MIN || id > INT32_MAX)
      throw Error(ErrorKind::usage, "python.ids", concat(name, " has ", id, "; need token ids of 32 bits"));
    out.push_back(static_cast<std::int32_t>(id));
  }
  return out;
}

Part to_part(Handle value) {
  const std::string name = to_text(value, "part");
  for (const Part part : {Part::encoder, Part::decoder, Part::cross})
    if (name_of(part) == name) return part;
  throw Error(ErrorKind::usage, "python.part",
              concat("part is \"", name, "\"; need \"encoder\", \"decoder\" or \"cross\""));
}

std::optional<Part> to_part_or_none(Handle value) {
  if (value.is_none()) return std::nullopt;
  return to_part(value);
}

Str from_part(Part part) { return from_text(name_of(part)); }

std::vector<HeadPlace> to_places(Handle values) {
  std::vector<HeadPlace> out;
  if (values.is_none()) return out;
  for (const Object& value : values) {
    const std::vector<std::int32_t> pair = to_ids(value, "heads");
    if (pair.size() != 2)
      throw Error(ErrorKind::usage, "python.heads",
                  concat("heads has ", repr_of(value), "; need pairs (layer, head)"));
    out.push_back({pair[0], pair[1]});
  }
  return out;
}

Change to_change(const std::string& name) {
  for (const Change change :
       {Change::zero, Change::mean, Change::scale, Change::patch, Change::cut_mask, Change::cut_weight})
    if (name_of(change) == name) return change;
  throw Error(ErrorKind::usage, "python.change",
              concat("change is \"", name, "\"; need zero, mean, scale, patch, cut-mask or cut-weight"));
}

std::vector<Range> to_ranges(Handle values, const char* name) {
  std::vector<Range> out;
  if (values.is_none()) return out;
  for (const Object& value : values) {
    const std::vector<Index> ends = to_indices(value, name);
    if (ends.size() != 2 || ends[0] < 0 || ends[1] <= ends[0])
      throw Error(ErrorKind::usage, "python.range",
                  concat(name, " has ", repr_of(value), "; need pairs (begin, end) with begin < end"));
    out.push_back({ends[0], ends[1]});
  }
  return out;
}

Prompt to_prompt(const Dict& prompt) {
  Prompt out;
  const auto text = [&](const char* key) {
    return prompt.contains(key) ? to_text(prompt.get(key), key) : std::string();
  };
  const auto ids = [&](const char* key) {
    return prompt.contains(key) ? to_ids(prompt.get(key), key) : std::vector<std::int32_t>();
  };
  out.text = text("text");
  out.target = text("target");
  out.second = text("second");
  out.ids = ids("ids");
  out.target_ids = ids("target_ids");
  out.type_ids = ids("type_ids");
  out.continuation = ids("continuation");
  return out;
}

Tuple from_range(Range range) { return tuple_of(range.begin, range.end); }

Dict from_tokenized(const TokenizedText& text) {
  CharacterPlaces places(text.text);
  Dict out;
  out["text"] = from_text(text.text);
  out["tokens"] = list_of(text.tokens, [&](const Token& token) {
    const Index begin = places.of(token.begin);
    return tuple_of(token.id, from_text(token.text), begin, places.of(token.end), token.special, token.word,
                    token.type);
  });
  out["words"] = list_of(text.words, [](const Word& word) {
    return tuple_of(from_text(word.text), word.tokens.begin, word.tokens.end);
  });
  return out;
}

void define_model(const Module& module) {
  Class<Model>("Model")
      .def_static<&open_model>("open", arg("path"), arg("places"))
      .def<&info_of>("info")
      .def("encode",
           [](const Model& model, const Object& text, bool special) {
             return tokenizer_of(model).encode(to_text(text, "text"),
                                               special ? SpecialTokens::add : SpecialTokens::leave_out);
           })
      .def("tokenize",
           [](const Model& model, const Object& text) {
             const Prompt prompt{.text = to_text(text, "text")};
             return from_tokenized(session::tokenized(
                 session::input_of(default_context(), model.state(), prompt, session::Needs::source, {}, {})
                     .source));
           })
      .def("decode",
           [](const Model& model, const Object& ids, bool special) {
             return from_text(tokenizer_of(model).decode(
                 to_ids(ids, "ids"), special ? SpecialTokens::add : SpecialTokens::leave_out));
           })
      .def("token",
           [](const Model& model, Index id) {
             const Tokenizer& tokenizer = tokenizer_of(model);
             if (id < 0 || id >= tokenizer.size())
               throw Error(ErrorKind::usage, "python.token",
                           concat("token ", id, "; the vocabulary has 0 to ", tokenizer.size() - 1));
             return from_text(tokenizer.token(static_cast<TokenId>(id)));
           })
      .def<&attend_prompt>("attend", arg("prompt"), arg("parts"), arg("keep_inputs"), arg("observe"),
                           arg("intervene"), arg("threads"))
      .add_to(module);
}

}  // namespace headlight::python
