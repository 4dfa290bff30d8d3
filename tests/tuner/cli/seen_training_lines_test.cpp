#include "tuner/cli/output/seen_training_lines.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

TEST_CASE("the first screen says what a step is", "[first-screen]") {
  tuner::CommandProbe seen{
      .timing = measure::Timing::Steps,
      .training = tuner::SeenTraining{.framework = "pytorch", .unit = "optimizer step", .batch = 64}};
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("one optimizer step, 64 examples"));
  seen.training->units = 2;  // as a GAN's
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("2 optimizer steps, 64 examples"));
}

TEST_CASE("the first screen names what a step's time goes into, and what is one figure without a loader",
          "[first-screen]") {
  tuner::CommandProbe seen{
      .timing = measure::Timing::Steps,
      .training = tuner::SeenTraining{.framework = "pytorch",
                                      .unit = "optimizer step",
                                      .batch = 64,
                                      .share = {{"data", 0.1}, {"forward", 0.6}, {"backward", 0.3}}}};
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("data 10 %, forward 60 %, backward 30 %"));
  seen.training->share.erase("data");  // no loader gave the batches
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("all before backward 60 %, backward 30 %"));
}

TEST_CASE("the first screen says how long it trains, and what is not known of that", "[first-screen]") {
  tuner::CommandProbe seen{.timing = measure::Timing::Steps,
                           .training = tuner::SeenTraining{.framework = "pytorch",
                                                           .unit = "optimizer step",
                                                           .batch = 64,
                                                           .steps_per_epoch = 10,
                                                           .epochs = 4,
                                                           .trains = "for epoch in range(4)"}};
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("  it trains   4 epochs: for epoch in range(4)\n"));
  seen.training->steps_per_epoch.reset();  // a stream's
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("4 epochs: for epoch in range(4); how long"));
  seen.training->epochs.reset();
  CHECK_THAT(cli::seen_training_text(seen, {}),
             ContainsSubstring("times are of one (--epochs N);") && ContainsSubstring("1000 steps, or --examples N"));
}

TEST_CASE("the first screen says what stands between epochs, and whether times are with it", "[first-screen]") {
  tuner::CommandProbe seen{.timing = measure::Timing::Steps,
                           .training = tuner::SeenTraining{.framework = "pytorch",
                                                           .unit = "optimizer step",
                                                           .batch = 64,
                                                           .steps_per_epoch = 100,
                                                           .epochs = 4,
                                                           .step_seconds = 0.2}};
  CHECK_THAT(cli::seen_training_text(seen, {}), !ContainsSubstring("between"));
  const measure::EpochEnds two{.steps = 5, .examples = 6400}, five{.steps = 5, .examples = 6400, .every = 4};
  seen.epoch_end = tuner::EpochEndProbe{.cut = two, .seen = measure::EpochEnd{.each = 3, .first = 0.5}, .of_runs = two};
  CHECK_THAT(cli::seen_training_text(seen, {}),
             ContainsSubstring("  between     epochs 3.00 s of evaluation and the like, 15 % of an epoch's\n") &&
                 ContainsSubstring("steps: each run cuts its first two epochs short"));
  seen.training->ends_repeat = 4;
  seen.epoch_end->cut = five;
  seen.epoch_end->of_runs = five;
  CHECK_THAT(cli::seen_training_text(seen, {}),
             ContainsSubstring("(the mean of 4 epochs): each run cuts its first 5 epochs short") &&
                 !ContainsSubstring("only"));
  seen.epoch_end->of_runs = two;  // five would take too long
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("each run cuts its first two") &&
                                                    ContainsSubstring("without what comes back every 4 epochs only"));
  seen.epoch_end->of_runs.reset();
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("longer than a run, so times are without"));
  seen.epoch_end->seen->each = 0.01;
  CHECK_THAT(cli::seen_training_text(seen, {}), !ContainsSubstring("between"));
  seen.epoch_end->seen.reset();
  seen.epoch_end->wall = std::chrono::seconds(70);
  CHECK_THAT(cli::seen_training_text(seen, {}),
             ContainsSubstring("no end of one was seen within 70.0 s, so times are without\n"));
}

TEST_CASE("of a process that imported a framework and trained nothing no step is described", "[first-screen]") {
  tuner::CommandProbe seen{.training = tuner::SeenTraining{.framework = "pytorch", .notes = {"it read last.ckpt"}}};
  CHECK(cli::is_without_steps(seen));
  const std::string text = cli::seen_training_text(seen, {});
  CHECK_THAT(text, StartsWith("  training    PyTorch\n  note        it read last.ckpt\n"));
  seen.timing = measure::Timing::Steps;  // its output told them
  CHECK_FALSE(cli::is_without_steps(seen));
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("  a step "));
}

TEST_CASE("the first screen says what is private, and what each run would prepare again", "[first-screen]") {
  tuner::CommandProbe seen{.files = tuner::WrittenFiles{.kind = "overlay"}};
  CHECK(cli::seen_training_text(seen, {}) ==
        "  files       it wrote none; each run works in a private view of your folder\n");
  seen.files->inside = {{.path = "model.pt", .bytes = 9}};
  seen.files->outside = {{.path = "/scratch/last.pt", .bytes = 9}};
  const std::string text = cli::seen_training_text(seen, {});
  CHECK_THAT(text, ContainsSubstring("  files       model.pt: each run writes") &&
                       ContainsSubstring("  outside     /scratch/last.pt: likewise private"));
  CHECK_THAT(cli::seen_training_text(seen, {}, true),
             ContainsSubstring("  outside     /scratch/last.pt: each run writes it for real"));
  CHECK_THAT(text, ContainsSubstring("yours stays as it is"));
  seen.files->prepared = {{.path = "data/set", .bytes = 999'999}};
  CHECK(cli::seen_training_text(seen, {}) == text);
  seen.files->prepared.push_back({.path = "data/index", .bytes = 1});
  CHECK_THAT(cli::seen_training_text(seen, {}),
             ContainsSubstring("  prepares    data/set, data/index (976.6 KiB) before"));
}

TEST_CASE("what is prepared is counted where it is many files of one folder", "[first-screen]") {
  tuner::CommandProbe seen{.files = tuner::WrittenFiles{.kind = "overlay"}};
  for (const char* name : {"data/set/raw/a", "data/set/raw/b", "data/set/c", "data/set/raw/d/e"})
    seen.files->prepared.push_back({.path = name, .bytes = 500'000});
  CHECK_THAT(cli::seen_training_text(seen, {}),
             ContainsSubstring("  prepares    4 files in data/set (1.9 MiB) before"));
  seen.files->prepared.push_back({.path = "/home/me/.keras/f", .bytes = 1});
  CHECK_THAT(cli::seen_training_text(seen, {}), ContainsSubstring("  prepares    data/set/raw/a, data/set/raw/b, "));
}

}  // namespace
}  // namespace nocturne::test
