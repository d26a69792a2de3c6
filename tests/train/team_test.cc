// Processes that learn together, as threads.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/thread_team.h"
#include "train/gradient_tree.h"
#include "train/workbench.h"

namespace headlight::train {
namespace {

using testing::fingerprint;
using testing::small_config;
using testing::TempFolder;
using testing::with_team;
using testing::Workbench;

const std::string kLast = "step-00000060";

TrainerConfig five_batches() {
  TrainerConfig config = small_config();
  config.accumulate = 5;
  return config;
}

TEST(TrainerTeam, CheckpointsHaveTheSameBitsOnOneToFourProcesses) {
  const TempFolder folder;
  for (const double average : {0.0, 0.9}) {
    const std::string suffix = average > 0 ? "-average" : "";
    const AdamWConfig adam{.average = average};
    {
      Workbench alone(folder.path("alone" + suffix), five_batches(), adam);
      (void)alone.go();
    }
    const std::string expected = fingerprint(folder.path("alone" + suffix), kLast);
    for (const int size : {1, 2, 3, 4}) {
      const std::string path = folder.path(std::to_string(size) + suffix);
      with_team(size, [&](Team& team) {
        Workbench bench(path, five_batches(), adam, 1, &team);
        EXPECT_EQ(bench.go(), Ending::finished);
      });
      EXPECT_EQ(fingerprint(path, kLast), expected) << size << " processes" << suffix;
    }
  }
}

TEST(TrainerTeam, ACheckpointOfFourIsContinuedByTwoAndByOne) {
  const TempFolder folder;
  const AdamWConfig adam{.average = 0.9};
  {
    Workbench alone(folder.path("alone"), five_batches(), adam);
    (void)alone.go();
  }
  std::filesystem::create_directories(folder.path("pieces"));
  for (const auto& [size, stop] : {std::pair{4, 7}, {2, 33}, {1, 0}}) {
    with_team(size, [&, stop = stop](Team& team) {
      Workbench bench(folder.path("pieces"), five_batches(), adam, 1, &team);
      (void)bench.trainer.resume({});
      // Any of them may be told to stop; all do, after the same step.
      if (stop > 0 && team.rank() == team.size() - 1) bench.notes.stop_at = stop;
      EXPECT_EQ(bench.go(), stop > 0 ? Ending::signal : Ending::finished);
    });
  }
  EXPECT_EQ(fingerprint(folder.path("pieces"), kLast), fingerprint(folder.path("alone"), kLast));
}

TEST(TrainerTeam, NeedsABatchForEveryProcess) {
  const TempFolder folder;
  with_team(3, [&](Team& team) {
    testing::expect_error([&] { Workbench(folder.path("run"), small_config(), {}, 1, &team); },
                          ErrorKind::usage, "train.ranks", "3 processes cannot share 2 batches of a step");
  });
}

TEST(TrainerTeam, BatchesAreSharedOutWithoutGapsOrOverlaps) {
  for (Index batches = 1; batches < 20; ++batches)
    for (int size = 1; size < 8; ++size) {
      Index next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Range range = batches_of(batches, rank, size);
        EXPECT_EQ(range.begin, next);
        next = range.end;
      }
      EXPECT_EQ(next, batches);
    }
}

}  // namespace
}  // namespace headlight::train
