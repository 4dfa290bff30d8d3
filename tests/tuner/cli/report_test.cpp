#include <cmath>
#include <map>
#include <utility>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/machine/machine.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/cli/output/published_results_report.hpp"
#include "tuner/report/evidence.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

report::PublishedResult published_that_bf16_is_faster(double percent = 54) {
  report::PublishedResult published{
      .id = "bf16", .title = "bf16", .network = "mnist_cnn", .device = "cpu", .published_percent = percent};
  published.reference.settings.set("precision", std::string("f32"));
  published.candidate.settings.set("precision", std::string("bf16"));
  return published;
}

std::optional<report::Evidence> evidence_at(const test::CliFixture& cli, const report::PublishedResult& published,
                                            const std::string& key = space::Fingerprint().key()) {
  const db::Store store = cli.open();
  return report::find_evidence(store, published, key, {});
}

}  // namespace

TEST_CASE("evidence for a published result is the pairs of two trials that differ as published", "[report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto found = evidence_at(cli, published_that_bf16_is_faster());
  REQUIRE(found);
  CHECK(found->grade == report::Grade::Pairs);
  CHECK(found->repetitions == 6);
  CHECK(found->epochs == 1);
  CHECK(found->percent == Approx(100 * (1 / 0.6 - 1)));
  CHECK(found->low_percent == Approx(100 * (1 / 0.65 - 1)));

  report::PublishedResult turned = published_that_bf16_is_faster(-30);
  std::swap(turned.reference, turned.candidate);
  CHECK(evidence_at(cli, turned)->percent == Approx(100 * (0.6 - 1)));
}

TEST_CASE("where there are no pairs, trials by themselves are shown as not interleaved", "[report]") {
  test::CliFixture cli;
  (void)test::fill(cli, {.verdict = false, .artifact = {}, .machine = {}});
  const auto found = evidence_at(cli, published_that_bf16_is_faster());
  REQUIRE(found);
  CHECK(found->grade == report::Grade::Trials);
  CHECK(found->repetitions == 2);
  CHECK(found->percent == Approx(100 * (5.0 / 3 - 1)));
  CHECK(found->low_percent < found->percent);
}

TEST_CASE("what another machine or another network measured is no evidence", "[report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(!evidence_at(cli, published_that_bf16_is_faster(), "another machine"));
  report::PublishedResult published = published_that_bf16_is_faster();
  published.network = "resnet50";
  CHECK(!evidence_at(cli, published));
}

TEST_CASE("a side that never trained here is named with its reason", "[report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  report::PublishedResult published = published_that_bf16_is_faster();
  published.candidate = {};
  published.candidate.settings.set("threads", std::int64_t{3});
  const auto failure = report::failure_of(cli.open(), published, space::Fingerprint().key(), {});
  CHECK_THAT(failure, ContainsSubstring("threads=3: crashed: signal 11"));
  CHECK(report::failure_of(cli.open(), published_that_bf16_is_faster(), space::Fingerprint().key(), {}).empty());
}

TEST_CASE("an interaction needs a campaign of each network, and is what one gain has beyond the other", "[report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  report::PublishedResult published = published_that_bf16_is_faster();
  published.kind = report::PublishedKind::Interaction;
  published.other_network = "resnet50";
  CHECK(!evidence_at(cli, published));
  published.other_network = "mnist_cnn";  // the same again: no interaction, with the width of both
  const auto one = evidence_at(cli, published_that_bf16_is_faster()), none = evidence_at(cli, published);
  REQUIRE(none);
  CHECK(none->grade == report::Grade::Pairs);
  CHECK(none->percent == Approx(0).margin(1e-9));
  const double down = std::log(one->percent + 100) - std::log(one->low_percent + 100);
  const double up = std::log(one->high_percent + 100) - std::log(one->percent + 100);
  CHECK(none->low_percent == Approx(100 * std::expm1(-std::hypot(down, up))));
  CHECK(none->high_percent == Approx(100 * std::expm1(std::hypot(down, up))));
}

TEST_CASE("first epochs are compared with the later ones of their own processes", "[report]") {
  test::CliFixture cli;
  db::Store store = test::fill(cli, {.finished = false, .verdict = false, .artifact = {}, .machine = {}});
  const auto campaign = store.find_campaign("evening").value().id;
  const auto trial = store.find_trial(campaign, 0).value();
  const auto add = [&](const std::string& id, std::vector<std::int64_t> seconds) {
    space::Run run;
    run.id = id;
    run.purpose = space::Purpose::Gate;
    run.outcome = space::Outcome::Ok;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      run.epochs.push_back(
          {.index = static_cast<std::int64_t>(i), .wall = std::chrono::seconds(seconds[i]), .loss = 0.1});
    }
    store.add_run(trial.id, {.run = run, .fingerprint = {}});
  };
  report::PublishedResult published{
      .id = "first", .kind = report::PublishedKind::FirstEpoch, .network = "mnist_cnn", .device = "cpu"};
  add("one-epoch", {9});
  add("three-epochs", {12, 10, 10});
  CHECK(!report::find_evidence(store, published, space::Fingerprint().key(), {}));  // one run has no interval
  add("three-more", {12, 10, 10});
  const auto found = report::find_evidence(store, published, space::Fingerprint().key(), {});
  REQUIRE(found);
  CHECK(found->grade == report::Grade::Epochs);
  CHECK(found->repetitions == 2);
  CHECK(found->percent == Approx(20));

  add("later-ones-differ", {20, 11, 10});
  published.kind = report::PublishedKind::LaterEpochs;
  const auto later = report::find_evidence(store, published, space::Fingerprint().key(), {});
  REQUIRE(later);
  CHECK(later->repetitions == 3);  // the first epoch counts nowhere
  CHECK(later->percent == Approx(100 * std::expm1(std::log(1.1) / std::sqrt(2.0) / std::sqrt(3.0))));
  CHECK(later->low_percent < later->percent);
  CHECK(later->high_percent > later->percent);
}

TEST_CASE("a report without measurements says how to measure each published result, or why it cannot be",
          "[cli][report]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"report", "paper"}) == ExitCode::NotFound);
  CHECK_THAT(cli.out(), ContainsSubstring("+54 %") && ContainsSubstring("not measured") &&
                            ContainsSubstring("nocturne compare framework=tensorflow-1.14,graph_compiler=none "
                                              "framework=tensorflow-2.1,graph_compiler=none --campaign"));
  if (measure::probe_machine_cheaply().gpus.empty()) CHECK_THAT(cli.out(), ContainsSubstring("no GPU here"));
  CHECK(!std::filesystem::exists(cli.database()));
  CHECK(cli.nocturne({"report", "paper", "--json"}) == ExitCode::NotFound);
  std::map<std::string, nlohmann::json> rows;
  const nlohmann::json document = cli.json().at("results");
  for (const auto& row : document) rows[row.at("result")] = row;
  const nlohmann::json& versions = rows.at("tensorflow-2.1");
  CHECK(versions.at("published_percent") == 54);
  CHECK(versions.at("readings").at("time_saved_percent").get<double>() == Approx(100 / 0.46 - 100));
  CHECK(versions.at("finding") == "not measured");
  CHECK(versions.at("measured").is_null());
  CHECK(versions.at("shipped").at(0).at("finding") == "undecided");
  CHECK(versions.at("shipped").at(0).at("published_size") == "smaller");
  CHECK(rows.at("ngraph").at("shipped").at(0).at("finding") == "confirmed");
  CHECK(rows.at("pytorch-similar").at("shipped").at(0).at("finding") == "undecided");
  CHECK(rows.at("mxnet-similar").at("shipped").at(0).at("finding") == "reversed");
  CHECK(rows.at("eager").at("shipped").at(0).at("finding") == "reversed");
  CHECK(rows.at("cntk-behind").at("shipped").at(0).at("finding") == "confirmed");
  CHECK(rows.at("xla-gpu-today").at("today") == true);
  const nlohmann::json& built = rows.at("tensorflow-from-source");
  CHECK(built.at("finding") == "not measurable here");
  CHECK(built.at("elsewhere") == true);
  CHECK_THAT(built.at("reason").get<std::string>(), ContainsSubstring("labelled tensorflow 2.1, hub"));
  CHECK_THAT(built.at("command").get<std::string>(), ContainsSubstring("framework=tensorflow-2.1,source=hub"));
  CHECK_THAT(rows.at("compiler-and-network").at("command").get<std::string>(),
             ContainsSubstring("examples/resnet50-cpu.json") && ContainsSubstring("examples/paper-mnist-cpu.json"));
  cli.columns = 80;
  CHECK(cli.nocturne({"report", "paper", "--markdown"}) == ExitCode::NotFound);
  CHECK_THAT(cli.out(), ContainsSubstring(" +23.6 %), 5 processes, Intel Xeon (Emerald Rapids), two cores: undecided "
                                          "(our own trainer on oneDNN) |\n"));
  CHECK(cli.nocturne({"report", "paper", "--picture", "-"}) == ExitCode::NotFound);
  CHECK_THAT(cli.out(), ContainsSubstring("<svg xmlns") && ContainsSubstring("-24.6 % (-32.5 to -15.9 %)") &&
                            ContainsSubstring("Graph compilers") && !ContainsSubstring("first epoch"));
  CHECK(cli.nocturne({"report", "paper", "--picture", "-", "--json"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"report", "html", "--picture", "x.svg"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"report", "papre"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"report", "paper", "--json", "--markdown"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"report", "paper", "--measure", "--time", "soon"}) == ExitCode::Usage);
}

TEST_CASE("a published result's row in Markdown has what was measured, by what, and what that says", "[report]") {
  const report::Evidence found{.percent = 3.2, .low_percent = 1.1, .high_percent = 5.4, .repetitions = 8, .epochs = 12};
  const std::string text = cli::published_results_markdown({{.published = published_that_bf16_is_faster(),
                                                             .evidence = found,
                                                             .judgement = report::judge(54, 1.1, 5.4, true),
                                                             .reason = {},
                                                             .command = {}},
                                                            {.published = published_that_bf16_is_faster(-30),
                                                             .evidence = {},
                                                             .judgement = {},
                                                             .reason = "no a|b\nhere",
                                                             .command = {}}});
  CHECK_THAT(text, ContainsSubstring("| bf16 | +54 % (or +117 %) | +3.2 % (+1.1 to +5.4 %) | 8 pairs, 12 epochs | "
                                     "confirmed, but smaller | – |\n"));
  CHECK_THAT(text, ContainsSubstring("| bf16 | -30 % (or -23 %) | – | 0 | not measured: no a\\|b here | – |\n"));
}
