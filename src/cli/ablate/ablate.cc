// headlight ablate: what heads are good for, by taking them away.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/ablate/view.h"
#include "cli/commands.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "io/gzip.h"
#include "models/translate.h"

namespace headlight::cli {
namespace {

using inspect::Change;

constexpr Index kCorpusTokens = 20000, kTestSentences = 200;
constexpr std::uint64_t kLargestCorpus = std::uint64_t{1} << 30;

PageStyle page_style(const AblateSettings& s) {
  PageStyle style;
  style.color = color_depth(s.color);
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  style.width = std::clamp(terminal_width(), 60, 110);
  return style;
}

class Ablating {
 public:
  explicit Ablating(const AblateSettings& s)
      : s_(s),
        outputs_(s.json.force ? io::Existing::replace : io::Existing::refuse),
        json_(s.json),
        ctx_({.threads = static_cast<int>(s.threads)}) {
    reserve_figures(outputs_, s);
    read_corpus();
    subject_ = inspect::open_subject(s.model, model_places());
    case_.emplace(ctx_, subject_, s, bar_);
    make_task();
  }

  void run() {
    if (s_.attribute) attribute();
    else if (s_.sweep) sweep();
    else knock_out();
    for (const std::string& note : case_->notes()) print_error(concat("note: ", note, "\n"));
    for (const std::string& note : subject_.notices) print_error(concat("note: ", note, "\n"));
  }

 private:
  // Files are read first: a wrong name should not wait for a model.
  void read_corpus() {
    if (!s_.corpus.empty()) corpus_ = io::read_text(s_.corpus, kLargestCorpus);
    if (!s_.evaluate.empty())
      set_ = read_test_set(s_.evaluate, static_cast<std::size_t>(s_.limit.value_or(kTestSentences)));
  }

  void make_task() {
    if (!s_.corpus.empty()) task_ = inspect::text_task(subject_, corpus_, s_.limit.value_or(kCorpusTokens));
    if (s_.evaluate.empty()) return;
    std::vector<inspect::TextPair> pairs;
    for (std::size_t i = 0; i < set_.sources.size(); ++i)
      pairs.emplace_back(set_.sources[i], set_.references[i].front());
    task_ = inspect::pair_task(subject_, pairs);
  }

  void finish(const std::string& text, const std::string& json) {
    bar_.clear();
    outputs_.commit();
    json_.write(json);
    if (!s_.json.to_stdout()) print(text);
  }

  void draw_maps(const std::vector<draw::WeightMap>& maps, const std::string& caption) {
    if (!s_.has_figure()) return;
    draw::FigureStyle style;
    style.transfer = draw::Transfer::linear;
    style.top = 1e-9;
    for (const draw::WeightMap& map : maps) style.top = std::max(style.top, draw::largest(map));
    style.caption = caption;
    write_figures(outputs_, s_, draw::heat_map_figure(maps, style), style.dpi);
  }

  [[nodiscard]] std::string caption(const std::string& about) const {
    const inspect::Question& q = case_->question();
    return concat("“", escaped(q.source.text, 200), "”",
                  q.written.text.empty() ? "" : concat(" → “", escaped(q.written.text, 200), "”"), " ", about,
                  " Model ", escaped(subject_.name), ".");
  }

  void knock_out() {
    inspect::Ablation ablation(case_->plan());
    const inspect::Question& question = case_->question();
    const inspect::Predictions before(inspect::run(ctx_, subject_, question)),
        after(inspect::run(ctx_, subject_, question, &ablation));
    const std::vector<std::int32_t> targets = inspect::targets_of(subject_, question);
    inspect::EffectOptions options{.row = case_->asked_row().value_or(-1), .top = s_.top};
    if (case_->asked_token()) options.also = {*case_->asked_token()};
    AblateView view;
    view.model = escaped(subject_.name);
    view.what = case_->what();
    view.effect = inspect::effect_of(before, after, targets, options);
    view.row_words = case_->row_words(view.effect.row);
    view.row_labels = case_->predicted().labels();
    for (const inspect::TokenEffect& token : view.effect.tokens)
      view.token_labels.push_back(case_->label_of(token.token));
    view.has_loss =
        std::any_of(targets.begin(), targets.end(), [](std::int32_t t) { return t != models::kIgnored; });
    translate(ablation, view);
    measure(ablation, view);
    finish(ablate_text(view, page_style(s_)), ablate_json(view));
  }

  // A translation of the model's own is made again with the change.
  void translate(inspect::Ablation& ablation, AblateView& view) {
    if (!case_->translates() || !s_.target.empty() || !s_.target_ids.empty() || !subject_.tokenizer) return;
    const auto text_of = [&](const inspect::Reading& reading) {
      return subject_.tokenizer->decode(reading.ids());
    };
    view.translation_before = text_of(case_->question().written);
    view.translation_after =
        text_of(inspect::translate(ctx_, subject_, case_->question().source, nullptr, &ablation));
  }

  void measure(inspect::Ablation& ablation, AblateView& view) {
    if (!task_) return;
    const auto loss = [&](Intervention* change, const char* doing) {
      return inspect::measure_loss(ctx_, subject_, *task_, change,
                                   [&](double done) { bar_.show(doing, done); });
    };
    const inspect::MeasuredLoss before = loss(nullptr, "loss before"), after = loss(&ablation, "loss after");
    view.corpus_loss =
        BeforeAfter{before.mean, after.mean, inspect::error_of_difference(before, after), before.targets};
    if (s_.evaluate.empty()) return;
    const auto bleu = [&](Intervention* change, const char* doing) {
      models::TransformerWriter writer(*subject_.model, {.intervention = change});
      models::TranslateOptions options;
      const auto total = static_cast<double>(set_.sources.size());
      options.on_progress = [&](Index done) { bar_.show(doing, static_cast<double>(done) / total); };
      std::vector<std::string> texts;
      for (models::Translation& t :
           models::translate(ctx_, writer, *subject_.tokenizer, set_.sources, options))
        texts.push_back(std::move(t.text));
      return evaluate(set_, texts).bleu.score;
    };
    view.bleu =
        BeforeAfter{bleu(nullptr, "translating as it is"), bleu(&ablation, "translating with the change"), 0,
                    static_cast<Index>(set_.sources.size())};
  }

  // Which token of which row is followed through a sweep.
  struct Followed {
    Index row;
    std::int32_t token;
    double probability;
  };
  Followed followed() {
    const inspect::Predictions before(inspect::run(ctx_, subject_, case_->question()));
    const Index row = case_->usual_row();
    const std::int32_t token = case_->asked_token().value_or(before.likeliest(row, 1).front());
    return {row, token, std::exp(before.log_probability(row, token))};
  }

  void sweep() {
    const Followed at = followed();
    inspect::SweepRequest request{
        .parts = {}, .row = at.row, .token = at.token, .task = task_ ? &*task_ : nullptr};
    for (const Part part : {Part::encoder, Part::decoder, Part::cross})
      if (subject_.has(part) && s_.part.value_or(part) == part) request.parts.push_back(part);
    if (s_.with == Change::mean) request.change = Change::mean, request.outputs = case_->means();
    SweepView view;
    view.heads = inspect::sweep_heads(ctx_, subject_, case_->question(), request,
                                      [&](double done) { bar_.show("every head in turn", done); });
    view.model = escaped(subject_.name);
    view.what = concat("each of ", view.heads.size(), " heads ",
                       request.change == Change::mean ? "replaced by its mean" : "zeroed", ", one at a time");
    view.row_words = case_->row_words(at.row);
    view.token_label = case_->label_of(at.token);
    view.probability = at.probability;
    view.by = s_.by.value_or(task_ ? SweepBy::loss : SweepBy::kl);
    if (view.by == SweepBy::direct &&
        std::none_of(view.heads.begin(), view.heads.end(),
                     [](const inspect::SweptHead& h) { return h.direct.has_value(); }))
      throw Error(
          ErrorKind::usage, "ablate.direct",
          concat("--by direct: \"", escaped(subject_.name),
                 "\" has an activation between its heads and its logits, so shares cannot be told apart"));
    if (task_) view.task_before = inspect::measure_loss(ctx_, subject_, *task_);
    draw_maps(sweep_maps(view),
              caption(concat("One head at a time ",
                             request.change == Change::mean ? "replaced by its mean" : "zeroed", ".")));
    finish(sweep_text(view, page_style(s_), top_of_list()), sweep_json(view));
  }

  void attribute() {
    const Followed at = followed();
    AttributionView view;
    view.model = escaped(subject_.name);
    view.row_words = case_->row_words(at.row);
    view.token_label = case_->label_of(at.token);
    view.attribution = inspect::attribute_logit(ctx_, subject_, case_->question(), at.row, at.token);
    draw_maps(attribution_maps(view), caption("What each head adds to the logit by itself."));
    finish(attribution_text(view, page_style(s_), top_of_list()), attribution_json(view));
  }

  // A list of heads is longer than one of tokens.
  [[nodiscard]] Index top_of_list() const { return s_.top == kUsualTop ? 12 : s_.top; }
  static constexpr Index kUsualTop = 5;

  const AblateSettings& s_;
  io::Outputs outputs_;
  JsonOutput json_;
  Context ctx_;
  ProgressBar bar_;
  std::string corpus_;
  TestSet set_;
  inspect::Subject subject_;
  std::optional<AblateCase> case_;
  std::optional<inspect::LossTask> task_;
};

void add_changes(CLI::App& command, AblateSettings& s) {
  add_part(command, s.part);
  add_heads(command, s.heads, "--head", "Knock out these heads: LAYER.HEAD from 0, several with commas");
  add_count(command, "--layer", s.layer, "Knock out all heads of this layer", {0, 100000});
  add_choice<std::optional<Change>>(command, "--with", s.with,
                                    {{"zero", Change::zero}, {"mean", Change::mean}},
                                    "zero: nothing in its place (default); mean: what it says on average");
  add_real(command, "--scale", s.scale, "Multiply the heads' output by this instead");
  add_text(command, "--patch", s.patch, "Put in what the heads said of this other sentence instead");
  add_text(command, "--edge", s.edge, "Cut one link instead: FROM->TO, such as 'it->animal'")
      ->type_name("FROM->TO");
  add_choice<std::optional<Change>>(
      command, "--cut", s.cut, {{"mask", Change::cut_mask}, {"weight", Change::cut_weight}},
      "How: mask hides the key (default); weight sets its weight to 0 and no other");
  add_text(command, "--at", s.at, "Only where this word looks, or writes")->type_name("WORD");
  add_path(command, "--mean-over", s.mean_over,
           "Sentences to take means over, a line each (default: 20 of ours)");
}

void add_effects(CLI::App& command, AblateSettings& s) {
  add_switch(command, "--sweep", s.sweep, "Every head in turn: which ones matter here?");
  add_switch(command, "--attribute", s.attribute,
             "Change nothing; what does each head add to a token's logit?");
  add_choice<std::optional<SweepBy>>(
      command, "--by", s.by,
      {{"kl", SweepBy::kl}, {"token", SweepBy::token}, {"loss", SweepBy::loss}, {"direct", SweepBy::direct}},
      "What a sweep is sorted and drawn by (default: kl, with a corpus loss)");
  add_text(command, "--position", s.position, "The prediction to look at: after this word, or of it")
      ->type_name("WORD");
  add_text(command, "--token", s.token,
           "The token to follow there, or @ and its number (default: the likeliest)")
      ->type_name("TOKEN");
  add_count(command, "--top", s.top, "Tokens or heads to list (default: 5 tokens, 12 heads)", {1, 100000});
  add_path(command, "--corpus", s.corpus, "Also the loss over this text; for decoders");
  add_path(command, "--evaluate", s.evaluate, "Also loss and BLEU over lines of source, tab, translation");
  add_count(command, "--limit", s.limit,
            "Of a corpus the first N tokens (20000), of pairs the first N sources (200)", {2, 1000000000});
}

}  // namespace

void add_ablate(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "ablate",
       .what = "Knock out heads or links and see what changes",
       .usage = "headlight ablate [TEXT] --head L.H | --layer L | --edge 'FROM->TO' | --sweep | --attribute "
                "[options]",
       .examples = "  headlight ablate \"The cat sat on the mat.\" --part cross --head 3.2\n"
                   "  headlight ablate \"The cat sat on the mat.\" --part cross --edge 'chat->cat'\n"
                   "  headlight ablate --layer 2 --with mean\n"
                   "  headlight ablate \"The cat sat here.\" --head 0.1 --patch \"The dog sat here.\"\n"
                   "  headlight ablate \"The cat sat on the mat.\" --sweep --png heads.png\n"
                   "  headlight ablate --model models/gpt2 \"The cat sat on the\" --attribute\n"
                   "  headlight ablate --part cross --head 3.2 --evaluate test.tsv --limit 100\n\n"
                   "  zero takes a head where training never took it; mean is gentler. Both say what they\n"
                   "  did. A large weight does not make a head important; taking it away shows more.\n"});
  const auto s = std::make_shared<AblateSettings>();
  add_model_input(*command, *s, "The text (default: piped text, else a sentence of ours)");
  add_changes(*command, *s);
  add_effects(*command, *s);
  add_figure_files(*command, *s);
  add_color(*command, s->color);
  add_json(*command, s->json);
  add_count(*command, "--threads", s->threads, "Threads (default: one per core)", {1, 1024});
  keep_alive(*command, s);
  on_run(*command, [s] {
    check_ablate(*s);
    Ablating(*s).run();
  });
}

}  // namespace headlight::cli
