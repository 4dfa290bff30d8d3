#include "tuner/training_check/training_check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/training_check/simulated_trainer.hpp"
#include "tuner/cli/output/checked_trainings.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using tuner::CheckedTraining;
using tuner::TrainingVerdict;

struct CheckedFixture {
  test::TemporaryFolder folder;
  SimulatedTrainer trainer;
  tuner::Interruption interruption;
  std::vector<std::string> said;

  CheckedTraining check(const std::string& framework) {
    tuner::TrainingCheck checking(trainer, interruption,
                                  {.kept = folder.path() / "references",
                                   .machine = "a machine",
                                   .say = [this](std::string_view sentence) { said.emplace_back(sentence); }});
    space::Configuration configuration;
    configuration.set("framework", framework);
    return checking.check(configuration);
  }
  /// The only file that is kept.
  [[nodiscard]] std::filesystem::path file() const {
    const std::filesystem::directory_iterator files(folder.path() / "references");
    REQUIRE(std::distance(begin(files), end(files)) == 1);
    return std::filesystem::directory_iterator(folder.path() / "references")->path();
  }
};

}  // namespace

TEST_CASE("a framework that trains as the reference does is right, and the row says how nearly", "[training_check]") {
  CheckedFixture cli;
  const CheckedTraining found = cli.check("right");
  INFO(found.reason);
  CHECK(found.verdict == TrainingVerdict::Right);
  CHECK(found.reason.empty());
  REQUIRE(found.exact);
  CHECK(found.exact->agrees);
  REQUIRE(found.band);
  CHECK(found.band->inside);
  CHECK(found.band->largest > 0);
  CHECK(found.band->largest < 1);
  REQUIRE(found.first_loss);
  CHECK(*found.first_loss > 0.5);
  REQUIRE(found.accuracy);
  CHECK(found.accuracy->accuracy >= 0.97);
  // The exact steps of both begin alike: same seed, and the reference's weights and batches.
  REQUIRE(cli.trainer.plans.size() > 2);
  CHECK(cli.trainer.plans[0].request.gate->write == "/nowhere/simulated-0/initial-state");
  CHECK(cli.trainer.plans[1].request.initial == "/nowhere/simulated-0/initial-state");
  CHECK(cli.trainer.plans[1].request.seed == cli.trainer.plans[0].request.seed);
}

TEST_CASE("a layer that stands still is wrong: the exact steps name it", "[training_check]") {
  CheckedFixture cli;
  const CheckedTraining found = cli.check("frozen_layer");
  CHECK(found.verdict == TrainingVerdict::Wrong);
  REQUIRE(found.exact);
  CHECK(found.exact->difference.what == "hidden.weights");
  CHECK(found.exact->difference.step == 1);
  CHECK_THAT(found.reason, ContainsSubstring("after step 1, hidden.weights has moved by 0"));
  CHECK(cli.trainer.checked_runs == 1);  // no epoch is trained after that
}

TEST_CASE("dropout left out is wrong: the losses leave the band, and the step is named", "[training_check]") {
  CheckedFixture cli;
  const CheckedTraining found = cli.check("no_dropout");
  CHECK(found.verdict == TrainingVerdict::Wrong);
  REQUIRE(found.exact);
  CHECK(found.exact->agrees);  // there nobody drops anything
  REQUIRE(found.band);
  CHECK_FALSE(found.band->inside);
  CHECK(found.band->step > 1);
  CHECK(found.band->step <= 51);
  CHECK_THAT(found.reason,
             ContainsSubstring("leave the band of the reference at step " + std::to_string(found.band->step)));
  REQUIRE(found.accuracy);
  CHECK(found.accuracy->accuracy >= 0.97);  // which says nothing of it
}

TEST_CASE("another rate is wrong in the first exact step, and in the band for who knows no gate", "[training_check]") {
  CheckedFixture cli;
  const CheckedTraining exact = cli.check("tenth_rate");
  CHECK(exact.verdict == TrainingVerdict::Wrong);
  REQUIRE(exact.exact);
  CHECK(exact.exact->difference.step == 1);
  const CheckedTraining deaf = cli.check("deaf_slow");
  CHECK(deaf.verdict == TrainingVerdict::Wrong);
  CHECK_FALSE(deaf.exact);
  CHECK_THAT(deaf.no_exact, ContainsSubstring("does not know the gate"));
  REQUIRE(deaf.band);
  CHECK_FALSE(deaf.band->inside);
  CHECK(cli.check("deaf").verdict == TrainingVerdict::Right);
}

TEST_CASE("who learns too little is wrong, whatever its losses say", "[training_check]") {
  CheckedFixture cli;
  const CheckedTraining found = cli.check("forgetful");
  CHECK(found.verdict == TrainingVerdict::Wrong);
  REQUIRE(found.band);
  CHECK(found.band->inside);
  CHECK_THAT(found.reason, ContainsSubstring("is 25.00 %, at least 97 % are expected"));
}

TEST_CASE("refusals, crashes and losses that are no numbers have verdicts of their own", "[training_check]") {
  CheckedFixture cli;
  CHECK(cli.check("unsupported").verdict == TrainingVerdict::Unsupported);
  const CheckedTraining crashed = cli.check("crashed");
  CHECK(crashed.verdict == TrainingVerdict::Failed);
  CHECK_THAT(crashed.reason, ContainsSubstring("crashed: the test wanted it (its log: /nowhere/"));
  CHECK(cli.check("diverged").verdict == TrainingVerdict::Wrong);
  const CheckedTraining silent = cli.check("silent");
  CHECK(silent.verdict == TrainingVerdict::Failed);
  CHECK_THAT(silent.reason, ContainsSubstring("no test accuracy"));
}

TEST_CASE("the band is trained once for a build and a machine, and torn files are trained anew", "[training_check]") {
  CheckedFixture cli;
  REQUIRE(cli.check("right").verdict == TrainingVerdict::Right);
  CHECK(cli.trainer.reference_runs == 1 + tuner::kBandReferences);
  CHECK(cli.said.size() == 1);
  REQUIRE(cli.check("right").verdict == TrainingVerdict::Right);
  CHECK(cli.trainer.reference_runs == 2 + tuner::kBandReferences);  // the exact steps alone
  CHECK(cli.said.size() == 1);

  std::ofstream(cli.file()) << "{\"nocturne_reference_losses\": 1, \"key\": 7, \"losses\": \"none\"}";
  REQUIRE(cli.check("right").verdict == TrainingVerdict::Right);
  CHECK(cli.trainer.reference_runs == 3 + 2 * tuner::kBandReferences);

  cli.trainer.artifact = "another build";
  REQUIRE(cli.check("right").verdict == TrainingVerdict::Right);
  CHECK(cli.trainer.reference_runs == 4 + 3 * tuner::kBandReferences);
}

TEST_CASE("an interruption ends the check and keeps the seeds that were trained", "[training_check]") {
  CheckedFixture cli;
  cli.trainer.while_running = [&cli] {
    if (cli.trainer.reference_runs == 6) cli.interruption.finish();  // in the fifth seed
  };
  const CheckedTraining found = cli.check("right");
  CHECK(found.verdict == TrainingVerdict::Interrupted);
  std::ifstream in(cli.file());
  CHECK(nlohmann::json::parse(in).at("losses").size() == 4);
}

TEST_CASE("the table has a row for each training, and the reason of who is not right", "[training_check]") {
  CheckedFixture cli;
  std::vector<cli::CheckedRow> rows;
  for (const char* name : {"right", "no_dropout"}) {
    cli::CheckedRow row{.name = name, .varied = {}, .found = cli.check(name)};
    row.varied.set("precision", std::string("f32"));
    rows.push_back(std::move(row));
  }
  std::ostringstream out;
  cli::Context context;
  context.out = &out;
  cli::print_checked_rows(context, rows);
  CHECK_THAT(out.str(), ContainsSubstring("right, precision=f32") && ContainsSubstring("no_dropout, precision=f32") &&
                            ContainsSubstring("no_dropout, precision=f32: its losses leave the band"));
  const nlohmann::json document = cli::checked_rows_json(rows);
  CHECK(document.at(0).at("verdict") == "right");
  CHECK(document.at(0).at("band").at("seeds") == tuner::kBandReferences);
  CHECK(document.at(1).at("good") == false);
  CHECK(document.at(1).at("band").at("share_of_band").get<double>() > 1);
  CHECK(document.at(1).at("varied").at("precision") == "f32");
}

}  // namespace nocturne::test
