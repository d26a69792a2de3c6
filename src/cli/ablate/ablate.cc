// headlight ablate: measures the effect of heads and links by removing them.
#include <algorithm>
#include <memory>

#include "cli/ablate/view.h"
#include "cli/commands.h"
#include "cli/map_look.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/translate/evaluation.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "io/gzip.h"

namespace headlight::cli {
namespace {

constexpr Index kCorpusTokens = 20000, kTestSentences = 200;
constexpr std::uint64_t kLargestCorpus = std::uint64_t{1} << 30;

// Files are read first: a wrong name should not wait for a model.
std::optional<TaskText> read_task(const AblateSettings& s) {
  if (s.corpus.empty() && s.evaluate.empty()) return std::nullopt;
  TaskText task;
  if (!s.corpus.empty()) task.text = io::read_text(s.corpus, kLargestCorpus);
  task.most_tokens = s.limit.value_or(kCorpusTokens);
  if (!s.evaluate.empty())
    task.translations = read_test_set(s.evaluate, static_cast<std::size_t>(s.limit.value_or(kTestSentences)));
  return task;
}

class Ablating {
 public:
  Ablating(const AblateSettings& s, io::Outputs& outputs, JsonOutput& json)
      : s_(s),
        outputs_(outputs),
        json_(json),
        task_(read_task(s)),
        model_(open_model(s.input.model)),
        ctx_({.threads = static_cast<int>(s.threads)}) {
    progress_.report = bar_.reporter();
    if (task_ && !task_->translations.sources.empty()) cut_ = cut_sources(task_->translations, model_);
  }

  void run() {
    (void)chosen_part(model_, s_.part);
    if (!model_.info().has_logits)
      throw Error(
          ErrorKind::usage, "ablate.head",
          concat("\"", escaped(model_.info().name),
                 "\" was stored without its prediction head, so there are no predictions to compare"));
    const Run run = attend(ctx_, model_, prompt_of(model_, s_.input), {.keep_inputs = false});
    const AblateRequest request = request_of(run, s_);
    if (s_.attribute) attribute(run, request);
    else if (s_.sweep) sweep(run, request);
    else remove_heads(run, request);
    print_notes(request.notes);
    if (cut_ > 0) print_notes({cut_note(*cut_, task_->translations, model_)});
    print_notes(model_.info().notices);
  }

 private:
  void finish(const Run& run, const std::string& text, const std::string& json,
              const std::vector<NamedTensor>& arrays) {
    bar_.clear();
    outputs_.commit();
    json_.write(json);
    write_arrays(s_.npy, s_.json, arrays, tokens_json(model_.info().name, token_lists(run)));
    if (!s_.json.to_stdout()) print(text);
  }

  void draw_maps(const Run& run, const std::vector<draw::WeightMap>& maps, const std::string& about) {
    if (!s_.figures.any()) return;
    const std::string &source = run.source().text, &target = run.target().text;
    const std::string caption = concat("“", escaped(source, 200), "”",
                                       target.empty() ? "" : concat(" → “", escaped(target, 200), "”"), " ",
                                       about, " Model ", escaped(model_.info().name), ".");
    double top = 1e-9;
    for (const draw::WeightMap& map : maps) top = std::max(top, draw::largest(map));
    MapLook look;
    look.transfer = draw::Transfer::linear;
    const draw::FigureStyle style = figure_style(s_.figures, look, caption, top);
    write_figures(outputs_, s_.figures, draw::heat_map_figure(maps, style), style.dpi);
  }

  static std::vector<NamedTensor> arrays_of(const std::vector<draw::WeightMap>& maps, const char* what) {
    std::vector<NamedTensor> arrays;
    for (const draw::WeightMap& map : maps) arrays.push_back({concat(map.title, "_", what), matrix_of(map)});
    return arrays;
  }

  void remove_heads(const Run& run, const AblateRequest& request) {
    EffectRequest asked{.position = request.position, .top = s_.top};
    if (request.token) asked.tokens = {*request.token};
    // If the model generated the translation, it is generated again with the change.
    asked.translate = s_.input.target.empty() && s_.input.target_ids.empty();
    asked.task = task_ ? &*task_ : nullptr;
    asked.progress = progress_;
    AblateView view;
    view.effect = ablate(ctx_, run, request.plan, asked);
    view.cut_sources = cut_;
    view.model = escaped(model_.info().name);
    view.what = what_changes(s_, request.plan, view.effect);
    view.row_words = position_words(run, view.effect.position);
    view.row_labels = labels_of(run.position_tokens());
    for (const TokenEffect& token : view.effect.tokens)
      view.token_labels.push_back(label_of(model_, token.token));
    std::vector<NamedTensor> arrays;
    arrays.push_back({"kl", Tensor({static_cast<Index>(view.effect.kl.size())}, DType::f64)});
    std::copy(view.effect.kl.begin(), view.effect.kl.end(), arrays[0].tensor.as<double>());
    finish(run, ablate_text(view, page_style(s_.color, 60, 110)), ablate_json(view), arrays);
  }

  void sweep(const Run& run, const AblateRequest& request) {
    SweepOptions options{.change = s_.with.value_or(Change::zero), .mean_texts = request.plan.mean_texts};
    if (s_.part) options.parts = {*s_.part};
    options.task = task_ ? &*task_ : nullptr;
    options.position = request.position;
    options.token = request.token;
    SweepView view;
    view.result = headlight::sweep(ctx_, run, options, progress_);
    const std::vector<SweptHead>& heads = view.result.heads;
    const char* how = options.change == Change::mean ? "replaced by its mean" : "zeroed";
    view.model = escaped(model_.info().name);
    view.what = concat("each of ", heads.size(), " heads ", how, ", one at a time");
    view.row_words = position_words(run, view.result.position);
    view.token_label = label_of(model_, view.result.token);
    view.by = s_.by.value_or(task_ ? SweepBy::loss : SweepBy::kl);
    if (view.by == SweepBy::direct &&
        std::none_of(heads.begin(), heads.end(), [](const SweptHead& h) { return h.direct.has_value(); }))
      throw Error(ErrorKind::usage, "ablate.direct",
                  concat("--by direct: \"", escaped(model_.info().name),
                         "\" has an activation between its heads and its logits, so direct effects do not "
                         "add up; choose kl, token or loss"));
    const std::vector<draw::WeightMap> maps = sweep_maps(view);
    draw_maps(run, maps, concat("One head at a time, ", how, "."));
    finish(run, sweep_text(view, page_style(s_.color, 60, 110), top_of_list()), sweep_json(view),
           arrays_of(maps, "sweep"));
  }

  void attribute(const Run& run, const AblateRequest& request) {
    AttributionView view;
    view.attribution = headlight::attribute(ctx_, run, request.position, request.token);
    view.model = escaped(model_.info().name);
    view.row_words = position_words(run, view.attribution.row);
    view.token_label = label_of(model_, view.attribution.token);
    const std::vector<draw::WeightMap> maps = attribution_maps(view);
    draw_maps(run, maps, "Direct effect of each head on the logit.");
    finish(run, attribution_text(view, page_style(s_.color, 60, 110), top_of_list()), attribution_json(view),
           arrays_of(maps, "attribution"));
  }

  // More rows by default for heads than for tokens.
  [[nodiscard]] Index top_of_list() const { return s_.top == AblateSettings{}.top ? 12 : s_.top; }

  const AblateSettings& s_;
  io::Outputs& outputs_;
  JsonOutput& json_;
  std::optional<TaskText> task_;
  std::optional<Index> cut_;  // sources of --evaluate that were too long
  Model model_;
  Context ctx_;
  ProgressBar bar_;
  Progress progress_;
};

void run(const AblateSettings& s) {
  check_ablate(s);
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  JsonOutput json(s.json);
  Ablating(s, outputs, json).run();
}

void add_changes(CLI::App& command, AblateSettings& s) {
  begin_group(command, "Change");
  add_part(command, s.part);
  add_heads(command, s.heads, "--head", "Heads to remove: LAYER.HEAD from 0, comma-separated");
  add_count(command, "--layer", s.layer, "Remove all heads of this layer", {0, 100000});
  add_text(command, "--edge", s.edge, "Cut one link instead, such as 'it->animal'")->type_name("FROM->TO");
  add_choice<std::optional<Change>>(command, "--with", s.with,
                                    {{"zero", Change::zero}, {"mean", Change::mean}},
                                    "Replace the heads' output by this (default: zero)");
  add_switch(command, "--sweep", s.sweep, "Remove every head in turn and rank them by effect");
  add_switch(command, "--attribute", s.attribute, "Remove nothing; list each head's direct logit effect");
  begin_group(command, "Change (more)", Detail::full);
  add_real(command, "--scale", s.scale, "Multiply the output of the heads by X instead");
  add_text(command, "--patch", s.patch, "Replace by the heads' output for this other sentence");
  add_choice<std::optional<Change>>(
      command, "--cut", s.cut, {{"mask", Change::cut_mask}, {"weight", Change::cut_weight}},
      "For --edge: mask hides the key (default); weight sets only this weight to 0");
  add_text(command, "--at", s.at, "Restrict the change to this query word")->type_name("WORD");
  add_path(command, "--mean-over", s.mean_over,
           "Sentences to compute means over, one per line (default: 20 built-in sentences)");
}

void add_effects(CLI::App& command, AblateSettings& s) {
  begin_group(command, "Measurement");
  add_text(command, "--position", s.position, "Measure the prediction after (or, if hidden, of) WORD")
      ->type_name("WORD");
  add_text(command, "--token", s.token, "The token to track there, as text or as @ID")->type_name("TOKEN");
  begin_group(command, "Measurement (more)", Detail::full);
  add_count(command, "--top", s.top, "Rows to list (default: 5 tokens, 12 heads)", {1, 100000});
  add_choice<std::optional<SweepBy>>(
      command, "--by", s.by,
      {{"kl", SweepBy::kl}, {"token", SweepBy::token}, {"loss", SweepBy::loss}, {"direct", SweepBy::direct}},
      "Column to sort and draw a sweep by (default: kl; with a corpus: loss)");
  add_path(command, "--corpus", s.corpus, "Also measure the loss on this text (decoders)");
  add_path(command, "--evaluate", s.evaluate,
           "Also measure loss and BLEU on lines of source, tab, translation (translators)");
  add_count(command, "--limit", s.limit,
            "Use the first N tokens of a corpus (default: 20000), or the first N sentence pairs (200)",
            {2, 1000000000});
}

}  // namespace

void add_ablate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "ablate",
       .what = "Remove heads or links and measure the effect",
       .usage = "headlight ablate [TEXT] --head L.H | --edge LINK | --sweep [options]",
       .examples = "  headlight ablate \"The cat sat on the mat.\" --part cross --head 3.2\n"
                   "  headlight ablate \"The cat sat on the mat.\" --part cross --edge 'chat->cat'\n"
                   "  headlight ablate --layer 2 --with mean\n"
                   "  headlight ablate \"The cat sat here.\" --head 0.1 --patch \"The dog sat here.\"\n"
                   "  headlight ablate \"The cat sat on the mat.\" --sweep --png heads.png\n"
                   "  headlight ablate --model models/gpt2 \"The cat sat on the\" --attribute\n"
                   "  headlight ablate --part cross --head 3.2 --evaluate test.tsv --limit 100\n"
                   "\n"
                   "  Zeroing moves the model outside its training distribution; means stay closer to it.\n"
                   "  A large attention weight does not make a head important; removing the head shows its "
                   "effect.\n"});
  const auto s = std::make_shared<AblateSettings>();
  add_model_input(*command, s->input, "The text (default: piped text, or a sample sentence)");
  add_changes(*command, *s);
  add_effects(*command, *s);
  add_figures(*command, s->figures);
  add_arrays(*command, s->npy, "effects");
  add_json(*command, s->json);
  add_threads(*command, s->threads);
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
