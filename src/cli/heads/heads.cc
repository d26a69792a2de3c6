// headlight heads: labels each head of a model by its attention pattern.
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/heads/settings.h"
#include "cli/numbers.h"
#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "heads.options", what); }

void check(const HeadsSettings& s) {
  const int questions = (s.link.empty() ? 0 : 1) + (s.pairs.empty() ? 0 : 1) + (s.like.empty() ? 0 : 1) +
                        (s.treebank.empty() ? 0 : 1) + (s.coref.empty() ? 0 : 1);
  if (questions > 1)
    refuse("--link, --pairs, --like, --treebank and --coref exclude each other; give one of them");
  const bool labels = questions == 0;
  if (!labels && (s.find || !s.corpus.empty() || !s.heads.empty()))
    refuse(
        "--find, --head and --corpus select labels; leave them out with --link, --pairs, --like, --treebank "
        "or --coref");
  if (!labels && s.figures.any())
    refuse("--png, --svg and --pdf draw labels, and this table has no figure; leave them out");
  const bool given = s.input.given();
  if (given && !s.corpus.empty()) refuse("TEXT and --corpus exclude each other; give one of them");
  if (given && (!s.pairs.empty() || !s.treebank.empty() || !s.coref.empty() || !s.like.empty()))
    refuse("--pairs, --treebank, --coref and --like do not use TEXT; leave it out");
  if (!s.parallel.empty() && s.treebank.empty())
    refuse("--parallel FILE is the translation of --treebank FILE; give both");
  const bool fixed = !s.treebank.empty() || !s.coref.empty();
  if (s.part && fixed) refuse("--treebank and --coref select the part themselves; leave out --part");
  if (s.like.size() > 1) refuse("--like takes one head");
  const bool many = !s.corpus.empty() || !s.pairs.empty() || fixed;
  if (!s.npy.empty() && s.link.empty())
    refuse("--npy writes the weights of a --link; use --json for other results");
  if (s.limit > 0 && !many) refuse("--limit needs --corpus, --pairs, --treebank or --coref");
}

void run(const HeadsSettings& s) {
  check(s);
  if (!s.link.empty()) return run_head_link(s);
  if (!s.pairs.empty()) return run_head_pairs(s);
  if (!s.like.empty()) return run_similar_heads(s);
  if (!s.parallel.empty()) return run_parallel(s);
  if (!s.treebank.empty()) return run_treebank(s);
  if (!s.coref.empty()) return run_coref(s);
  run_head_labels(s);
}

void add_questions(CLI::App& command, HeadsSettings& s) {
  add_path(command, "--corpus", s.corpus, "Read one text per line of FILE; -: standard input")
      ->type_name("FILE|-");
  add_count(command, "--limit", s.limit, "Only the first N texts, pairs, sentences or items", {1, 100000000});
  begin_group(command, "Selection");
  add_reader(
      command, "--find", [&s](const std::string& text) { s.find = inspect::parse_label(text); },
      "List only heads with this label, best first")
      ->type_name("LABEL");
  add_heads(command, s.heads, "--head", "List only these heads, with all their scores");
  add_part(command, s.part);
  add_text(command, "--link", s.link, "Rank heads by a link: 'it->animal', 'it->?', '?->it'")
      ->type_name("LINK");
  add_path(command, "--pairs", s.pairs, "Rank heads by links: lines of TEXT, FROM, TO with tabs");
  add_heads(command, s.like, "--like", "List the heads with the most similar weights");
  add_path(command, "--treebank", s.treebank, "Score heads against dependency trees (CoNLL-U)");
  add_path(command, "--coref", s.coref, "Score heads on pronouns: Winograd, Winogender or GAP");
  begin_group(command, "Selection (more)", Detail::full);
  add_path(command, "--parallel", s.parallel, "With --treebank: its translation, for word alignment");
  add_count(command, "--top", s.top, "Rows of a ranking (default: 10)", {1, 1000000});
}

}  // namespace

void print_page(const Page& page, const HeadsSettings& s) {
  if (!s.json.to_stdout()) print(page.text());
}

void write_head_array(const HeadsSettings& s, const Run& run, Part part, const std::string& name,
                      const std::vector<std::pair<HeadPlace, double>>& numbers) {
  if (s.npy.empty()) return;
  const PartInfo& info = *run.model().info().find(part);
  std::vector<NamedTensor> arrays;
  arrays.push_back({concat(name_of(part), "_", name),
                    Tensor({info.layers(), *std::max_element(info.heads.begin(), info.heads.end())})});
  for (const auto& [place, number] : numbers) arrays[0].tensor.view().set(place.layer, place.head, number);
  write_arrays(s.npy, s.json, arrays, tokens_json(run.model().info().name, token_lists(run)));
}

void add_heads_command(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "heads",
       .what = "Label, rank and score heads by what they attend to",
       .usage = "headlight heads [TEXT | --corpus FILE] [--find LABEL | --link LINK] [options]\n"
                "       headlight heads --pairs FILE | --like L.H\n"
                "       headlight heads --treebank FILE | --coref FILE",
       .examples =
           "  headlight heads \"The animal didn't cross the street because it was too tired.\"\n"
           "  headlight heads --find induction --model stories15M\n"
           "  headlight heads --head 2.5\n"
           "  headlight heads --corpus stories.txt --limit 500 --json heads.json\n"
           "  headlight heads --link \"it->animal\"\n"
           "  headlight heads --treebank en_ewt-ud-dev.conllu.gz\n"
           "  headlight heads --treebank en_pud.conllu.gz --parallel fr_pud.conllu.gz\n"
           "  headlight heads --coref gap-validation.tsv\n"
           "  headlight heads --png heads.png\n"
           "\n"
           "  Labels: previous current next offset first delimiter duplicate induction local broad none;\n"
           "  for cross-attention aligned, end, none. Lift: the weight divided by that of uniform "
           "attention.\n"
           "  Battery: a fixed set of test texts. docs/guide/heads.md defines labels and columns.\n"});
  const auto s = std::make_shared<HeadsSettings>();
  add_model_input(*command, s->input, "The text (default: piped text, or a sample sentence)");
  begin_group(*command, "Model and text");
  add_questions(*command, *s);
  add_figures(*command, s->figures);
  add_arrays(*command, s->npy, "a --link's weights");
  add_json(*command, s->json);
  add_map_look(*command, s->look);
  add_threads(*command, s->threads);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
