// headlight train and headlight plot as a user runs them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/train/display.h"
#include "headlight/error.h"
#include "io/gzip.h"
#include "io/hash.h"
#include "io/json.h"
#include "support/places.h"
#include "support/random.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kRecipe = R"(
[model]
kind = "decoder"
width = 16
layers = 1
heads = 2
[data]
task = "copy"
symbols = 4
length = 3
batch = 4
evaluation_size = 8
[train]
steps = 30
[evaluation]
every = 10
[output]
log_every = 5
save_every = 10
)";

class Train : public ::testing::Test {
 protected:
  Train() { std::ofstream(folder_.path("r.toml")) << kRecipe; }

  [[nodiscard]] std::vector<std::string> arguments(const std::string& run,
                                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"train", folder_.path("r.toml"), "--out", folder_.path(run), "--threads",
                                    "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] Finished train(const std::string& run, std::vector<std::string> more = {}) const {
    return run_program(arguments(run, std::move(more)));
  }
  [[nodiscard]] std::string fingerprint(const std::string& run, const std::string& step) const {
    std::string text;
    for (const std::string& file :
         {step + "/model.safetensors", step + "/training.safetensors", std::string("metrics.jsonl")})
      text += io::hash_text(io::read_text(folder_.path(run + "/" + file))) + " ";
    return text;
  }
  // Sends signals to the program when its log has grown: all at the same moment, however busy the machine is.
  [[nodiscard]] Finished interrupted(const std::string& run, const std::vector<int>& signals,
                                     std::vector<std::string> more) const {
    Launch launch{.arguments = arguments(run, std::move(more))};
    const std::string log = folder_.path(run + "/metrics.jsonl");
    launch.in_child = [=] {
      const pid_t program = ::getpid();
      struct stat status {};
      const off_t before = ::stat(log.c_str(), &status) == 0 ? status.st_size : 0;
      if (::fork() != 0) return;
      for (int i = 0; i < 3000; ++i) {
        if (::stat(log.c_str(), &status) == 0 && status.st_size > before) break;
        ::usleep(10000);
      }
      ::kill(program, SIGSTOP);
      for (const int signal : signals) ::kill(program, signal);
      ::kill(program, SIGCONT);
      ::_exit(0);
    };
    return run_program(launch);
  }

  TempFolder folder_;
};

TEST_F(Train, SaysWhatItDoesAndWritesARun) {
  const Finished done = train("run");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("decoder, "));
  EXPECT_THAT(done.out, HasSubstr("copy with 4 symbols"));
  EXPECT_THAT(done.out, HasSubstr("step 5/30  loss "));
  EXPECT_THAT(done.out, HasSubstr("step 30  valid loss "));
  EXPECT_THAT(done.out, HasSubstr("done: step 30"));
  EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));  // nobody is at a terminal
  for (const char* file : {"config.json", "model.safetensors", "training.safetensors", "checkpoint.json"})
    EXPECT_TRUE(std::filesystem::exists(folder_.path("run/step-00000030/" + std::string(file)))) << file;
  // A finished run is not begun again by mistake, and going on does nothing.
  const Finished again = train("run");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("has checkpoints of an earlier run"));
  const std::string before = fingerprint("run", "step-00000030");
  EXPECT_EQ(train("run", {"--resume"}).code, 0);
  EXPECT_EQ(fingerprint("run", "step-00000030"), before);
}

TEST_F(Train, SaysItsResultAsJson) {
  const Finished done = train("run", {"--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("best valid loss"));  // the log moves to standard error
  const io::Json json = io::Json::parse(done.out, "output");
  EXPECT_EQ(json.text("folder"), folder_.path("run"));
  EXPECT_EQ(json.text("ending"), "finished");
  EXPECT_EQ(json.integer("step"), 30);
  EXPECT_EQ(json.integer("parameters"), json.integer("trained_parameters"));
  EXPECT_GT(json.real("best_loss"), 0);
  EXPECT_TRUE(std::filesystem::exists(json.text("best") + "/config.json"));
  EXPECT_GT(json.integer("peak_memory_bytes"), 1 << 20);
  // In a file, beside the usual log; existing files stay.
  const Finished file = train("again", {"--json", folder_.path("a.json")});
  EXPECT_EQ(file.code, 0) << file.err;
  EXPECT_THAT(file.out, HasSubstr("best valid loss"));
  EXPECT_EQ(io::Json::read(folder_.path("a.json")).real("best_loss"), json.real("best_loss"));
  EXPECT_EQ(train("third", {"--json", folder_.path("a.json")}).code, 4);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("third")));
}

TEST_F(Train, SignalsSaveAndEnd) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}}) {
    const std::string run = "run" + std::to_string(signal);
    const Finished done =
        interrupted(run, {signal}, {"--set", "train.steps=1000000", "--set", "output.save_every=0"});
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.out, HasSubstr("stopped by a signal, checkpoint saved"));
    const Finished rest = interrupted(run, {signal}, {"--resume", "--set", "train.steps=1000000"});
    EXPECT_EQ(rest.code, code) << rest.err;
    EXPECT_THAT(rest.out, HasSubstr("resuming from step "));
  }
}

TEST_F(Train, TheSecondSignalEndsAtOnce) {
  const std::vector<std::string> settings = {"--set", "train.steps=1000000", "--set", "output.log_every=1",
                                             "--set", "output.save_every=1"};
  const Finished done = interrupted("run", {SIGTERM, SIGINT}, settings);
  EXPECT_TRUE(done.code == 143 || done.code == 130) << done.code;
  EXPECT_THAT(done.out, Not(HasSubstr("stopped by a signal, checkpoint saved")));
  std::vector<std::string> more = settings;
  more.emplace_back("--resume");
  const Finished rest = interrupted("run", {SIGTERM}, more);
  EXPECT_EQ(rest.code, 143) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("stopped by a signal, checkpoint saved"));
}

// SIGALRM at random moments is as sudden as SIGKILL; tools/kill-test does it on a larger scale.
TEST_F(Train, SuddenDeathDoesNotShowInTheResult) {
  ASSERT_EQ(train("whole").code, 0);
  Random random(5);
  int deaths = 0;
  for (int attempt = 0; attempt < 200 && deaths < 6; ++attempt) {
    Launch launch{.arguments = arguments("pieces", {"--resume"})};
    const auto wait = static_cast<suseconds_t>(1000 * (230 + random.below(300)));
    launch.in_child = [wait] {
      const itimerval timer{{0, 0}, {0, wait}};
      ::setitimer(ITIMER_REAL, &timer, nullptr);
    };
    const Finished done = run_program(launch);
    EXPECT_THAT(done.err, Not(HasSubstr("damaged")));
    if (done.code == 0) {
      EXPECT_EQ(fingerprint("pieces", "step-00000030"), fingerprint("whole", "step-00000030"));
      std::filesystem::remove_all(folder_.path("pieces"));
    } else {
      ASSERT_EQ(done.code, -SIGALRM) << done.err;
      ++deaths;
    }
  }
  ASSERT_EQ(train("pieces", {"--resume"}).code, 0);
  EXPECT_EQ(fingerprint("pieces", "step-00000030"), fingerprint("whole", "step-00000030"));
}

TEST_F(Train, AFullDiskIsToldAndLosesNothing) {
  Launch launch{.arguments = arguments("run")};
  launch.in_child = [] {
    const rlimit limit{16384, 16384};  // no file may grow beyond it: the optimizer's state does not fit
    ::setrlimit(RLIMIT_FSIZE, &limit);
    (void)::signal(SIGXFSZ, SIG_IGN);
  };
  const Finished full = run_program(launch);
  EXPECT_EQ(full.code, 4);
  EXPECT_THAT(full.err, HasSubstr("not saved, training continues"));
  EXPECT_THAT(full.err, HasSubstr("File too large"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("run")))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  ASSERT_EQ(train("run", {"--resume"}).code, 0);
  ASSERT_EQ(train("whole").code, 0);
  EXPECT_EQ(fingerprint("run", "step-00000030"), fingerprint("whole", "step-00000030"));
}

TEST_F(Train, RefusesWithTheRightCode) {
  const auto refused = [&](std::vector<std::string> more, int code, const std::string& words) {
    const Finished done = train("refused", std::move(more));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.first_error_line(), StartsWith("error: "));
    EXPECT_THAT(done.err, HasSubstr(words));
  };
  refused({"--set", "model.widht=3"}, 3, "the closest is \"model.width\"");
  refused({"--set", "width"}, 2, "is not KEY=VALUE");
  refused({"--set", "model.heads=3"}, 2, "is not a multiple of 3 heads");
  refused({"--set", "data.task=language", "--set", "data.train=missing.txt"}, 4,
          "missing.txt: No such file or directory");
  refused({"--threads", "0"}, 2, "--threads");
  refused({"--set", "model.kind=encoder-decoder", "--set", "data.task=recall"}, 2, "recall has no source");
  refused({"--set", "optimizer.learning_rate=1000", "--set", "train.clip=0", "--set", "optimizer.warmup=0",
           "--set", "optimizer.beta2=0", "--set", "optimizer.beta1=0", "--set", "train.steps=200", "--set",
           "optimizer.schedule=constant", "--set", "optimizer.min_learning_rate=0", "--set",
           "optimizer.weight_decay=1000"},
          6, "is not finite at step");
  EXPECT_EQ(run_program({"train", folder_.path("missing.toml")}).code, 4);
  EXPECT_EQ(run_program({"train"}).code, 2);
  std::ofstream(folder_.path("file")) << "x";
  EXPECT_EQ(train("file").code, 4);
}

TEST_F(Train, TrainsItsOwnTokenizerAndKeepsIt) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the cat sat on the mat . the dog ran to the cat .\n";
  std::ofstream(folder_.path("text.txt")) << text;
  const std::vector<std::string> settings = {
      "--set", "data.task=language",    "--set", "data.train=" + folder_.path("text.txt"),
      "--set", "data.valid_share=0.1",  "--set", "tokenizer.vocabulary=300",
      "--set", "model.context=8",       "--set", "output.watch=the cat sat",
      "--set", "data.evaluation_size=0"};
  const Finished done = train("text", settings);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path("text/step-00000030/tokenizer.json")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("text/snapshots/step-00000030/0-decoder.npy")));
  EXPECT_THAT(io::read_text(folder_.path("text/snapshots/sentences.json")), HasSubstr("\"input\": ["));
  std::ofstream(folder_.path("text.txt"), std::ios::app) << "more";
  std::vector<std::string> more = settings;
  more.insert(more.end(), {"--resume", "--set", "train.steps=31"});
  const Finished changed = train("text", more);
  EXPECT_EQ(changed.code, 3);
  EXPECT_THAT(changed.err, HasSubstr("has changed since the checkpoint"));
  more.emplace_back("--allow-data-change");
  EXPECT_EQ(train("text", more).code, 0);
}

// A reader that has seen enough stops the run in good order, as a signal does.
TEST_F(Train, AClosedPipeLeavesACheckpoint) {
  Launch launch;
  launch.arguments = {"-c", "\"$0\" \"$@\" | head -n 5; exit ${PIPESTATUS[0]}", program_path()};
  for (const std::string& argument : arguments(
           "piped",
           {"--set", "train.steps=1000000", "--set", "evaluation.every=0", "--set", "output.save_every=0"}))
    launch.arguments.push_back(argument);
  const Finished done = run_process("/bin/bash", launch);
  EXPECT_EQ(done.code, 128 + SIGPIPE) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, HasSubstr("step 5/1000000"));
  std::string step;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("piped")))
    if (entry.path().filename().string().starts_with("step-"))
      step = entry.path().filename().string().substr(5);
  ASSERT_NE(step, "");
  const int next = std::stoi(step) + 1;
  const Finished rest = train("piped", {"--resume", "--set", "train.steps=" + std::to_string(next), "--set",
                                        "evaluation.every=0", "--set", "output.save_every=0"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("resuming from step " + std::to_string(next - 1)));
}

// The device whose disk is always full: what nobody can read is no reason to stop.
TEST(TrainDisplay, AFullStandardOutputStopsNothing) {
  cli::TrainDisplay display({}, 0, 1);
  std::atomic<int> stop{0};
  const int before = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY);
  ::dup2(full, STDOUT_FILENO);
  EXPECT_THROW(display.say("nothing has been done yet"), Error);
  display.never_fail(stop);
  EXPECT_NO_THROW(display.on_step({.step = 1, .steps = 2}));
  ::dup2(before, STDOUT_FILENO);
  EXPECT_EQ(stop, 0);
  ::close(before);
  ::close(full);
}

TEST_F(Train, PlotDrawsEveryFormat) {
  ASSERT_EQ(train("run").code, 0);
  const auto plot = [&](const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"plot", folder_.path("run"), "-o", folder_.path(file)};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  };
  EXPECT_EQ(plot("a.png").code, 0);
  EXPECT_EQ(plot("a.svg").code, 0);
  EXPECT_EQ(plot("a.pdf", {"--show", "accuracy", "--title", "Copying"}).code, 0);
  EXPECT_THAT(io::read_text(folder_.path("a.png")), StartsWith("\x89PNG"));
  EXPECT_THAT(io::read_text(folder_.path("a.svg")), HasSubstr("<svg"));
  EXPECT_THAT(io::read_text(folder_.path("a.pdf")), StartsWith("%PDF"));
  EXPECT_EQ(plot("a.png").code, 4);
  EXPECT_EQ(plot("a.png", {"--force"}).code, 0);
  EXPECT_EQ(plot("a.gif").code, 2);
  EXPECT_EQ(plot("b.png", {folder_.path("missing")}).code, 4);
  std::ofstream(folder_.path("run/metrics.jsonl"), std::ios::app)
      << "{\"step\": 35, \"smoo";  // still being written
  EXPECT_EQ(plot("b.png").code, 0);
  std::ofstream(folder_.path("run/metrics.jsonl"), std::ios::app) << "\n{}\n";
  const Finished bad = plot("c.png");
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("metrics.jsonl (line "));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("c.png")));
}

TEST_F(Train, PlotHasTheOptionsOfEveryFigure) {
  ASSERT_EQ(train("run").code, 0);
  const auto svg = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"plot", folder_.path("run"), "--svg", folder_.path(name)});
    const Finished done = run_program(more);
    EXPECT_EQ(done.code, 0) << done.err;
    return io::read_text(folder_.path(name));
  };
  EXPECT_THAT(svg("plain.svg", {}), HasSubstr("width=\"254mm\""));
  EXPECT_THAT(svg("narrow.svg", {"--width", "3in"}), HasSubstr("width=\"76.2mm\""));
  const std::string paper =
      svg("paper.svg", {"--width", "4in", "--font-size", "8pt", "--caption", "As measured"});
  EXPECT_THAT(paper, HasSubstr("width=\"101.6mm\""));
  EXPECT_THAT(paper, HasSubstr("font-size=\"8\""));
  EXPECT_THAT(paper, HasSubstr("As measured"));
  EXPECT_EQ(run_program({"plot", folder_.path("run"), "-o", folder_.path("a.svg"), "--svg", "b.svg"}).code,
            2);
  EXPECT_EQ(run_program({"plot", folder_.path("run"), "--png", folder_.path("a.png"), "--dpi", "5"}).code, 2);
  EXPECT_EQ(run_program({"plot", folder_.path("run"), "--png", folder_.path("a.png"), "--show", "bleu"}).code,
            3);
}

TEST_F(Train, PlotWritesItsPointsAsJson) {
  ASSERT_EQ(train("run").code, 0);
  const Finished done = run_program({"plot", folder_.path("run"), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");
  EXPECT_EQ(json.text("quantity"), "loss");
  const auto curves = json.list("curves").items();
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].text("set"), "training");
  EXPECT_EQ(curves[0].list("points").items().size(), 6U);  // 30 steps, one line for five
  EXPECT_EQ(curves[1].text("set"), "validation");
  const auto points = curves[1].list("points").items();
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[2].items()[0].integer(), 30);
  EXPECT_GT(points[2].items()[1].real(), 0);
  const Finished nothing = run_program({"plot", folder_.path("run")});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--json"));
}

TEST(TrainDisplay, FitsItsLine) {
  train::StepReport report{.step = 1234,
                           .steps = 200000,
                           .loss = 1.5,
                           .smoothed = 1.25,
                           .learning_rate = 3e-4,
                           .gradient_norm = 0.7};
  const cli::Pace pace{.tokens_per_second = 12345, .peak_share = 0.61, .seconds_left = 3700};
  for (const int width : {20, 40, 60, 80, 120, 200}) {
    const std::string line =
        cli::moving_line(report, pace, {.moving = true, .color = false, .unicode = false, .width = width});
    EXPECT_LT(line.size(), static_cast<std::size_t>(std::max(width, 24))) << line;
    EXPECT_THAT(line, StartsWith("1234/200000 "));
  }
  EXPECT_EQ(
      cli::moving_line(report, pace, {.moving = true, .color = false, .unicode = false, .width = 100}),
      "1234/200000 ............ loss 1.2500  1:01:40 left  12.3k tok/s  61% of peak  lr 3.00e-04  |g| 0.70");
  EXPECT_EQ(cli::plain_line(report, pace),
            "step 1234/200000  loss 1.5000  smoothed 1.2500  lr 3.000e-04  |g| 0.700  12.3k tok/s  61% of "
            "peak  1:01:40 left");
  EXPECT_EQ(cli::short_count(999), "999");
  EXPECT_EQ(cli::short_count(1000), "1.0k");
  EXPECT_EQ(cli::short_count(123456), "123k");
  EXPECT_EQ(cli::short_count(9.4e6), "9.4M");
}

}  // namespace
}  // namespace headlight::testing
