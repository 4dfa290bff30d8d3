#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/measuring/machine_measuring.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/roofline/machine_figures.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

space::Fingerprint sample_fingerprint() {
  space::Fingerprint machine;
  machine.set({.name = "cpu.model", .value = "Two cores"});
  return machine;
}

db::Store night_on_sample(const test::CliFixture& cli) {
  return test::fill(cli, {.artifact = {}, .machine = sample_fingerprint()});
}

void know_sample(db::Store& store, const space::Fingerprint& machine) {
  store.save_machine_figures(
      {.key = tuner::figures_key(machine), .fields = tuner::figure_fields(machine), .figures = test::sample_figures()});
  store.save_network("mnist_cnn", test::sample_network());
}

}  // namespace

TEST_CASE("roofline holds each configuration against its bound, the fastest first", "[cli]") {
  test::CliFixture cli;
  auto store = night_on_sample(cli);
  know_sample(store, sample_fingerprint());
  CHECK(cli.nocturne({"roofline", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  CHECK(document["operations_an_image"] == 71'565'312);
  CHECK(document["best"] == 1);
  const auto& rows = document["rows"];
  REQUIRE(rows.size() == 4);  // the fifth crashed
  std::vector<int> trials;
  for (const auto& row : rows) trials.push_back(row["trial"].get<int>());
  CHECK(trials == std::vector{1, 3, 0, 2});
  CHECK(rows[2]["batch"] == 100);
  CHECK(rows[2]["step_s"].get<double>() == Approx(0.04));
  CHECK(rows[2]["bound"]["seconds"].get<double>() == Approx(0.036902546));
  CHECK(rows[2]["share"].get<double>() == Approx(0.92256365));
  CHECK(rows[2]["bound"]["resource"] == "arithmetic");
  CHECK(rows[2]["bound"]["layers"].size() == 5);
  CHECK_FALSE(rows[0]["beats_bound"].get<bool>());
  CHECK(rows[1]["share"].get<double>() == Approx(1.0703).epsilon(1e-3));
  CHECK(rows[1]["beats_bound"].get<bool>());
  CHECK_THAT(document["doubt"].get<std::string>(), ContainsSubstring("1 of 4 configurations (marked !) is faster than "
                                                                     "the bound, by up to 7 %") &&
                                                       ContainsSubstring("'nocturne machine --measure'"));
  CHECK(rows[3]["share"].get<double>() == Approx((0.071565312 + 7 * 1'199'882.0 * 4 / 20e9) / 0.08));

  CHECK(cli.nocturne({"roofline"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("! 107.0 %") && !ContainsSubstring("! 92.3 %"));
  CHECK_THAT(cli.out(), ContainsSubstring("71.6 MFLOP an image") && ContainsSubstring("92.3 %") &&
                            ContainsSubstring("precision=bf16") &&
                            ContainsSubstring("The best (trial 1) runs at 95 % of what its cores could do in bf16; at "
                                              "most 1.05 x is left in its steps."));
  CHECK(cli.nocturne({"roofline", "evening", "--trial", "0"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("conv2") && ContainsSubstring("optimizer"));
  CHECK(cli.nocturne({"roofline", "evening", "--trial", "4"}) == ExitCode::NotFound);
}

TEST_CASE("roofline says what is missing, and what to do", "[cli]") {
  test::CliFixture cli;
  {
    auto store = night_on_sample(cli);
    know_sample(store, {});  // another machine
  }
  CHECK(cli.nocturne({"roofline"}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("nocturne machine --measure"));
}

TEST_CASE("a command of one's own has no bound, and is told why", "[cli]") {
  test::CliFixture cli;
  auto store = cli.open();
  know_sample(store, sample_fingerprint());
  const auto machine = sample_fingerprint();
  store.begin_or_resume_campaign({.name = "own",
                                  .identity = "i",
                                  .spec = {{"campaign", "own"}, {"worker", {{"template", {"/bin/true"}}}}},
                                  .strategy = "random",
                                  .fingerprint = {.hash = machine.identity(), .fields = machine.to_json()}});
  CHECK(cli.nocturne({"roofline", "own"}) == ExitCode::Negative);
  CHECK_THAT(cli.err(), ContainsSubstring("command of its own"));
}

TEST_CASE("a step that beats its bound by no more than its noise is not doubted", "[cli]") {
  test::CliFixture cli;
  // Trial 3, the one that is nearest to its bound: 107.0 % of it, now 101.9 %.
  auto store = test::fill(cli, {.artifact = {}, .machine = sample_fingerprint(), .slowdown = 1.05});
  know_sample(store, sample_fingerprint());
  CHECK(cli.nocturne({"roofline", "--json"}) == ExitCode::Ok);
  CHECK(cli.json()["doubt"].is_null());
  CHECK(cli.json()["rows"][1]["share"].get<double>() > 1.015);
  CHECK_FALSE(cli.json()["rows"][1]["beats_bound"].get<bool>());
  CHECK(cli.nocturne({"roofline", "--trial", "3"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), !ContainsSubstring("too low"));
}

TEST_CASE("a best that is faster than its bound is not called impossible, but doubted", "[cli]") {
  test::CliFixture cli;
  auto store = test::fill(cli, {.artifact = {}, .machine = sample_fingerprint(), .slowdown = 0.5});
  know_sample(store, sample_fingerprint());
  CHECK(cli.nocturne({"roofline"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("faster than its bound (190 %)") &&
                            ContainsSubstring("measures them again") &&
                            ContainsSubstring("4 of 4 configurations (marked !) are faster"));
  CHECK(cli.nocturne({"roofline", "--trial", "1"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("conv2") && ContainsSubstring("measures them again"));
}

TEST_CASE("machine shows what was measured here, and says how where nothing was", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"machine"}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("nocturne machine --measure"));
  CHECK_FALSE(std::filesystem::exists(cli.database()));
  {
    auto store = cli.open();
    know_sample(store, sample_fingerprint());
  }
  CHECK(cli.nocturne({"machine"}) == ExitCode::NotFound);
  {
    auto store = cli.open();
    know_sample(store, measure::fingerprint_of(measure::probe_machine(tuner::find_installation().machine_roots())));
  }
  CHECK(cli.nocturne({"machine"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("f32 arithmetic") && ContainsSubstring("200.0") &&
                            ContainsSubstring("L3 bandwidth") && ContainsSubstring("memory latency") &&
                            ContainsSubstring("no larger than the L2"));
  CHECK_THAT(cli.out(), !ContainsSubstring("oubtful") && !ContainsSubstring("tries"));
  CHECK(cli.nocturne({"machine", "--json"}) == ExitCode::Ok);
  CHECK(cli.json()["figures"] == test::sample_figures());
  CHECK(cli.json()["machine"].contains("cpu.model"));
  CHECK(cli.nocturne({"machine", "--seconds", "5"}) == ExitCode::Usage);  // of --measure only
}

TEST_CASE("machine says which figures are doubtful, how often they were measured, and what is done about it", "[cli]") {
  test::CliFixture cli;
  const auto machine = measure::fingerprint_of(measure::probe_machine(tuner::find_installation().machine_roots()));
  auto figures = test::sample_figures();
  figures["measurements"][1]["tries"] = 4;
  figures["measurements"][1]["doubt"] = "2 threads reached 1.00 times what one did";
  {
    auto store = cli.open();
    store.save_machine_figures(
        {.key = tuner::figures_key(machine), .fields = tuner::figure_fields(machine), .figures = figures});
  }
  CHECK(cli.nocturne({"machine"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("loop, the best of 4 tries") &&
                            ContainsSubstring("Doubtful: f32 arithmetic with 2 threads: 2 threads reached 1.00") &&
                            ContainsSubstring("nocturne machine --measure"));
}

TEST_CASE("doubtful figures are measured again before a campaign, however short, unless that is refused", "[cli]") {
  test::CliFixture cli;
  const test::TemporaryFolder programs;
  const auto program = programs.path() / "nocturne-machine";
  auto better = test::sample_figures();
  better["measurements"][1]["tries"] = 1;
  std::ofstream(programs.path() / "said") << better.dump();
  std::ofstream(program) << "#!/bin/sh\ncat '" << (programs.path() / "said").string() << "'\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);

  const measure::MachineFacts machine = measure::probe_machine({});
  const auto fingerprint = measure::fingerprint_of(machine);
  const std::string key = tuner::figures_key(fingerprint);
  auto doubtful = better;
  doubtful["measurements"][1]["maximum"] = 100;
  doubtful["measurements"][1]["doubt"] = "2 threads reached 1.00 times what one did";
  auto store = cli.open();
  store.save_machine_figures(
      {.key = key, .fields = tuner::figure_fields(fingerprint), .figures = doubtful, .measured_unix_ns = 7});
  store.save_network("mnist_cnn", test::sample_network());
  const auto spec = tuner::parse_campaign(R"({
    "campaign": "short", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [1]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "values": [1, 2], "default": 1}]},
    "strategy": {"name": "random", "seed": 1}, "budget": {"trials": 2}})",
                                          "short.json", "/", space::Facts());
  REQUIRE(spec);
  std::ostringstream err;
  cli::Context context;
  context.err = &err;
  context.environment = {{"NOCTURNE_DATA", cli.data().string()}};
  cli::MachineMeasuringOptions options{.programs = programs.path(), .slot_folder = programs.path()};

  options.none = true;
  cli::know_machine(options, context, *spec, store, machine);
  CHECK(err.str().empty());
  options.none = false;
  cli::know_machine(options, context, *spec, store, machine);
  CHECK_THAT(err.str(), ContainsSubstring("doubtful of this machine's figures: fma_f32."));
  const auto known = store.machine_figures(key);
  REQUIRE(known);
  CHECK(known->figures["measurements"][1]["maximum"] == 200.0);
  CHECK(known->figures["measurements"][1]["tries"] == 2);
  CHECK(known->measured_unix_ns > 7);
  err.str("");
  cli::know_machine(options, context, *spec, store, machine);
  CHECK(err.str().empty());  // nothing is doubtful any more
}
