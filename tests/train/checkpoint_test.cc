#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <filesystem>
#include <fstream>
#include <regex>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "train/workbench.h"

namespace headlight::train {
namespace {

using testing::expect_error;
using testing::fingerprint;
using testing::TempFolder;
using testing::Workbench;

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class Checkpoint : public ::testing::Test {
 protected:
  Checkpoint() {
    Workbench bench(folder_.path("run"));
    bench.notes.stop_at = 20;
    (void)bench.go();
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return folder_.path("run/step-00000020/" + name);
  }

  // A changed manifest with a checksum that fits.
  void forge(const std::string& pattern, const std::string& replacement) const {
    std::string text =
        std::regex_replace(io::read_text(file("checkpoint.json")), std::regex(pattern), replacement);
    text.resize(text.rfind("\"checksum\""));
    write_bytes(file("checkpoint.json"), text + "\"checksum\": \"" + io::hash_text(text) + "\"\n}\n");
  }

  TempFolder folder_;
};

constexpr const char* kFiles[] = {"checkpoint.json", "model.safetensors", "training.safetensors",
                                  "config.json", "tokenizer.json"};

TEST_F(Checkpoint, AnyDamageIsFoundAndTheOneBeforeIsUsed) {  // K1
  testing::Random random(1);
  for (const char* name : kFiles) {
    const std::string good = io::read_text(file(name));
    for (int i = 0; i < 40; ++i) {
      std::string bad = good;
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(good.size())));
      switch (i % 5) {
        case 0: bad[at] = static_cast<char>(bad[at] ^ (1 << random.below(8))); break;
        case 1: bad.resize(at); break;
        case 2: bad.insert(at, 1, 'x'); break;
        case 3: bad.erase(at, 1); break;
        case 4: bad += i % 2 == 0 ? "x" : std::string(512, '\0'); break;
      }
      if (bad == good) continue;
      write_bytes(file(name), bad);
      Workbench bench(folder_.path("run"));
      EXPECT_TRUE(bench.trainer.resume({}));
      EXPECT_EQ(bench.trainer.progress().step, 10) << name << " damaged by way " << i % 5 << " at " << at;
      ASSERT_EQ(bench.notes.notices.size(), 1U);
      EXPECT_NE(bench.notes.notices[0].find("damaged checkpoint); trying the previous one"),
                std::string::npos);
    }
    write_bytes(file(name), std::string(good.size(), '\0'));
    Workbench bench(folder_.path("run"));
    EXPECT_TRUE(bench.trainer.resume({}));
    EXPECT_EQ(bench.trainer.progress().step, 10);
    write_bytes(file(name), good);
  }
}

TEST_F(Checkpoint, ADamagedTensorIsNamed) {
  std::string bytes = io::read_text(file("training.safetensors"));
  bytes[bytes.size() - 10] = static_cast<char>(bytes[bytes.size() - 10] ^ 4);
  write_bytes(file("training.safetensors"), bytes);
  Workbench bench(folder_.path("run"));
  expect_error([&] { (void)load_checkpoint(folder_.path("run/step-00000020"), bench.parts()); },
               ErrorKind::input, "checkpoint.damaged",
               "training.safetensors does not match its checksum, at tensor \"v.bias\"");
}

TEST_F(Checkpoint, AfterFallingBackTheResultIsTheSame) {
  std::filesystem::remove(file("model.safetensors"));
  {
    Workbench rest(folder_.path("run"));
    EXPECT_TRUE(rest.trainer.resume({}));
    (void)rest.go();
  }
  Workbench whole(folder_.path("whole"));
  (void)whole.go();
  EXPECT_EQ(fingerprint(folder_.path("run"), "step-00000060"),
            fingerprint(folder_.path("whole"), "step-00000060"));
}

TEST_F(Checkpoint, AllDamagedIsAnError) {
  for (const char* step : {"step-00000010", "step-00000020"})
    std::filesystem::remove(folder_.path("run/" + std::string(step) + "/config.json"));
  Workbench bench(folder_.path("run"));
  expect_error([&] { (void)bench.trainer.resume({}); }, ErrorKind::input, "checkpoint.none",
               "all 2 checkpoints are damaged");
}

TEST_F(Checkpoint, DifferencesAreNamed) {  // K2
  const std::string folder = folder_.path("run/step-00000020");
  Workbench bench(folder_.path("other"));
  CheckpointParts parts = bench.parts();
  parts.recipe[0].second = "16";
  expect_error([&] { (void)load_checkpoint(folder, parts); }, ErrorKind::input, "checkpoint.differs",
               "was made with model.width = 12; the recipe says 16");
  parts.recipe[0] = {"model.heads", "2"};
  expect_error([&] { (void)load_checkpoint(folder, parts); }, ErrorKind::input, "checkpoint.differs",
               "model.heads = nothing");
  (void)load_checkpoint(folder, parts, {.may_differ = {"model.width"}, .defaults = {"model.heads"}});
  parts.recipe.erase(parts.recipe.begin());
  expect_error([&] { (void)load_checkpoint(folder, parts); }, ErrorKind::input, "checkpoint.differs",
               "the recipe does not have it");
  (void)load_checkpoint(folder, parts, {.may_differ = {"model.width"}});

  testing::Bigram larger(13);
  AdamW adam(larger.parameters(), {});
  parts = bench.parts();
  parts.model = &larger;
  parts.adam = &adam;
  expect_error([&] { (void)load_checkpoint(folder, parts); }, ErrorKind::input, "checkpoint.differs",
               "tensor \"table.weight\" is F32 [12, 12]; this model has F32 [13, 13]");
  AdamW averaging(bench.model.parameters(), {.average = 0.9});
  parts = bench.parts();
  parts.adam = &averaging;
  expect_error([&] { (void)load_checkpoint(folder, parts); }, ErrorKind::input, "checkpoint.differs",
               "has no tensor \"value.table.weight\"");
  parts = bench.parts();
  expect_error([&] { (void)load_checkpoint(folder_.path("run/best"), parts); }, ErrorKind::input,
               "checkpoint.differs", "no optimizer state");
}

TEST_F(Checkpoint, OtherVersionsAreRefused) {  // K3
  forge("\"version\": 1", "\"version\": 2");
  Workbench bench(folder_.path("run"));
  expect_error([&] { (void)bench.trainer.resume({}); }, ErrorKind::input, "checkpoint.version",
               "has checkpoint format 2; this program reads 1");
}

TEST_F(Checkpoint, LeftoversAreIgnoredAndRemoved) {  // K4
  std::filesystem::create_directory(folder_.path("run/.part-1-1"));
  write_bytes(folder_.path("run/.part-1-1/model.safetensors"), "half");
  Workbench bench(folder_.path("run"));
  EXPECT_TRUE(bench.trainer.resume({}));
  EXPECT_EQ(bench.trainer.progress().step, 20);
  (void)bench.go();
  EXPECT_FALSE(std::filesystem::exists(folder_.path("run/.part-1-1")));
}

TEST_F(Checkpoint, BadFoldersAreRefusedAtOnce) {  // K5
  write_bytes(folder_.path("file"), "x");
  expect_error([&] { RunFolder(folder_.path("file")); }, ErrorKind::file, "file.write", "file: ");
  expect_error([&] { RunFolder(folder_.path("file/below")); }, ErrorKind::file, "file.write",
               "Not a directory");
  std::filesystem::create_directory(folder_.path("closed"));
  ::chmod(folder_.path("closed").c_str(), 0500);
  if (::geteuid() != 0)
    expect_error([&] { RunFolder(folder_.path("closed")); }, ErrorKind::file, "file.write",
                 "Permission denied");
}

TEST_F(Checkpoint, OneRunAFolder) {  // K6
  {
    const RunFolder first(folder_.path("run"));
    expect_error([&] { RunFolder(folder_.path("run")); }, ErrorKind::file, "run.locked",
                 "another run is using this folder (process " + std::to_string(::getpid()) + ")");
  }
  write_bytes(folder_.path("run/lock"), "99999999\n");  // a stale one
  const RunFolder second(folder_.path("run"));
}

TEST_F(Checkpoint, NumbersThatNoRunReachesAreRefused) {  // K7
  const std::string good = io::read_text(file("checkpoint.json"));
  const std::pair<const char*, const char*> forgeries[] = {
      {"\"step\": 20", "\"step\": 9223372036854775807"},
      {"\"step\": 20", "\"step\": 9223372036854775808"},
      {"\"step\": 20", "\"step\": -1"},
      {"\"step\": 20", "\"step\": 2.5"},
      {"\"step\": 20", "\"step\": null"},
      {"\"smoothed\": [^,]*", "\"smoothed\": 1e999"},
      {"\"smoothed\": [^,]*", "\"smoothed\": NaN"},
      {"\"best_loss\": [^,]*", "\"best_loss\": \"1\""},
      {"\"stale\": 0", "\"stale\": -5"},
      {"\"name\": \"model.safetensors\"", "\"name\": \"../best/model.safetensors\""}};
  for (const auto& [pattern, replacement] : forgeries) {
    write_bytes(file("checkpoint.json"), good);
    forge(pattern, replacement);
    Workbench bench(folder_.path("other"));
    expect_error([&] { (void)load_checkpoint(folder_.path("run/step-00000020"), bench.parts()); },
                 ErrorKind::input, "checkpoint.damaged", "checkpoint");
  }
}

TEST_F(Checkpoint, ChangedDataIsRefused) {  // K8
  Workbench bench(folder_.path("other"));
  CheckpointParts parts = bench.parts();
  parts.data[0].path = "moved.txt";  // the same text in another place is the same data
  (void)load_checkpoint(folder_.path("run/step-00000020"), parts);
  parts.data[0].hash = "0123456789abcdee";
  expect_error([&] { (void)load_checkpoint(folder_.path("run/step-00000020"), parts); }, ErrorKind::input,
               "checkpoint.data", "moved.txt: has changed since the checkpoint");
  (void)load_checkpoint(folder_.path("run/step-00000020"), parts, {.data_may_differ = true});
  parts.data.clear();
  expect_error([&] { (void)load_checkpoint(folder_.path("run/step-00000020"), parts); }, ErrorKind::input,
               "checkpoint.data", "a.txt");
}

TEST_F(Checkpoint, TheOrderIsByStepNotByClock) {  // K9
  const auto later = std::filesystem::last_write_time(file("config.json")) + std::chrono::hours(1000);
  std::filesystem::last_write_time(folder_.path("run/step-00000010"), later);
  Workbench bench(folder_.path("run"));
  EXPECT_TRUE(bench.trainer.resume({}));
  EXPECT_EQ(bench.trainer.progress().step, 20);
}

TEST_F(Checkpoint, ChangedMetricsAreToldAndGoOn) {
  write_bytes(folder_.path("run/metrics.jsonl"), "{}\n");
  Workbench bench(folder_.path("run"));
  EXPECT_TRUE(bench.trainer.resume({}));
  (void)bench.go();
  ASSERT_EQ(bench.notes.notices.size(), 1U);
  EXPECT_NE(bench.notes.notices[0].find("metrics.jsonl has changed"), std::string::npos);
}

// Writing stops at byte after byte: the file system refuses (Error), or the process dies there and then.
class Limit {
 public:
  explicit Limit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~Limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)::signal(SIGXFSZ, handler_);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(Checkpoint, AFailureAtAnyByteLeavesTheOldOneAndNothingElse) {
  Workbench bench(folder_.path("run"));
  const TrainingState progress = load_checkpoint(folder_.path("run/step-00000020"), bench.parts());
  const std::string before = fingerprint(folder_.path("run"), "step-00000020");
  const int entries =
      static_cast<int>(std::distance(std::filesystem::directory_iterator(folder_.path("run")), {}));
  int failures = 0;
  for (rlim_t bytes = 0; bytes < 3000; bytes += 61) {
    try {
      const Limit limit(bytes);
      save_checkpoint(folder_.path("run"), "step-00000021", bench.parts(), progress);
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::file) << error.what();
      ++failures;
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path("run")), {}), entries) << bytes;
  }
  EXPECT_GT(failures, 20);
  EXPECT_EQ(fingerprint(folder_.path("run"), "step-00000020"), before);
}

TEST_F(Checkpoint, DeathAtAnyByteLeavesTheOldOne) {
  Workbench bench(folder_.path("run"));
  const TrainingState progress = load_checkpoint(folder_.path("run/step-00000020"), bench.parts());
  int deaths = 0;
  for (rlim_t bytes = 0; bytes < 3000; bytes += 97) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      (void)::signal(SIGXFSZ, SIG_DFL);
      save_checkpoint(folder_.path("run"), "step-00000021", bench.parts(), progress);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    ++deaths;
    EXPECT_EQ(bench.run.checkpoints().front(), "step-00000020");
    Workbench fresh(folder_.path("other"));
    EXPECT_EQ(load_checkpoint(folder_.path("run/step-00000020"), fresh.parts()).step, 20);
  }
  EXPECT_GT(deaths, 15);
  bench.run.tidy(2);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("run")))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST_F(Checkpoint, KeepsItsTokenizer) {
  EXPECT_EQ(checkpoint_tokenizer(folder_.path("run/step-00000020")), "{\"tokenizer\": 1}");
  write_bytes(file("tokenizer.json"), "{\"tokenizer\": 2}");
  EXPECT_THROW((void)checkpoint_tokenizer(folder_.path("run/step-00000020")), Error);
}

}  // namespace
}  // namespace headlight::train
