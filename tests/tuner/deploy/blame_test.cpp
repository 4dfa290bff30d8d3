#include "tuner/deploy/blame.hpp"

#include <csignal>

#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tuner/campaign/observer.hpp"
#include "tuner/deploy/blame_baseline.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using deploy::Apart;

namespace {

deploy::Circumstances built(const std::string& key, const std::string& compiler, const std::string& kernel) {
  deploy::Circumstances result{.artifact = key, .build = db::BuildRecord{.key = key, .compiler = compiler}};
  result.build->flags = {{"compiler", "g++"}};
  result.machine.set({.name = "cpu.model", .value = "A CPU", .match = space::Match::Must});
  result.machine.set({.name = "system.kernel", .value = kernel, .match = space::Match::Verify});
  return result;
}

deploy::Circumstances installed(const std::string& key, const std::vector<std::string>& packages) {
  deploy::Circumstances result = built(key, "Python 3.13", "6.1");
  result.build->flags = {{"environment", "pytorch-2"}, {"packages", packages}};
  return result;
}

/// The new side gains so much, in per cent, give or take one.
measure::Comparison pairs_say(double gain, measure::Verdict verdict) {
  return {.verdict = verdict, .pairs = 6, .gain_percent = gain, .low_percent = gain - 1, .high_percent = gain + 1};
}

const deploy::CandidateCause& named(const std::vector<deploy::CandidateCause>& causes, const std::string& name) {
  for (const auto& each : causes)
    if (each.name == name) return each;
  FAIL("no candidate cause is called " + name);
  return causes.front();
}

}  // namespace

TEST_CASE("the old build and the old compiler can be set apart while they are there", "[blame]") {
  const auto then = built("aaaa", "g++ 12", "6.1"), now = built("bbbb", "g++ 13", "6.1");
  auto causes = deploy::candidate_causes(then, now, {.old_program = true, .old_compiler = "/usr/bin/g++-12"});
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].name == "program");
  CHECK(causes[0].apart == Apart::Program);
  CHECK(named(causes, "compiler").apart == Apart::Compiler);

  causes = deploy::candidate_causes(then, now, {.old_program = true, .old_compiler = ""});
  CHECK(named(causes, "compiler").apart == Apart::Together);

  causes = deploy::candidate_causes(then, now, {});
  CHECK(named(causes, "program").apart == Apart::No);
  CHECK_THAT(named(causes, "program").why_not, ContainsSubstring("removed"));
  CHECK_THAT(named(causes, "compiler").why_not, ContainsSubstring("not installed"));
}

TEST_CASE("flags that differ are named, and measured with the program", "[blame]") {
  const auto then = built("aaaa", "g++ 12", "6.1");
  auto now = built("bbbb", "g++ 12", "6.1");
  now.build->flags["compiler"] = "clang++";
  const auto causes = deploy::candidate_causes(then, now, {.old_program = true, .old_compiler = ""});
  REQUIRE(causes.size() == 2);
  CHECK(named(causes, "flags").now == "compiler 'g++' is 'clang++'");
  CHECK(named(causes, "flags").apart == Apart::Together);
}

TEST_CASE("a kernel is a candidate cause that nothing sets apart", "[blame]") {
  const auto then = built("aaaa", "g++ 12", "6.1"), now = built("aaaa", "g++ 12", "6.2");
  const auto causes = deploy::candidate_causes(then, now, {.old_program = true, .old_compiler = ""});
  REQUIRE(causes.size() == 1);  // the program is the same
  CHECK(causes[0].name == "system.kernel");
  CHECK(causes[0].apart == Apart::No);
  const auto blame = deploy::conclude(causes, deploy::WholeChange{.log_ratio = 0.2, .explained = 0.05});
  CHECK_FALSE(blame.told);
  CHECK_THAT(blame.sentence, ContainsSubstring("cannot be told: system.kernel"));
  const auto calm = deploy::conclude(causes, deploy::WholeChange{.log_ratio = 0.02, .explained = 0.05});
  CHECK(calm.told);
  CHECK_THAT(calm.sentence, ContainsSubstring("nothing became slower"));
}

TEST_CASE("of an environment the packages that differ are named", "[blame]") {
  const auto causes = deploy::candidate_causes(installed("aaaa", {"numpy==1.26.0", "scipy==1.0", "torch==2.1"}),
                                               installed("bbbb", {"numpy==2.1.0", "six==1.1", "torch==2.1"}),
                                               {.old_program = true, .old_compiler = ""});
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].name == "packages");
  CHECK(causes[0].now == "numpy 1.26.0 is 2.1.0, scipy is gone, six 1.1 is new");
}

TEST_CASE("hashes of packages are not printed, and another file of the same version is named", "[blame]") {
  const std::string one = " --hash=sha256:" + std::string(64, '1'), two = " --hash=sha256:" + std::string(64, '2');
  CHECK(deploy::package_changes({"a==1" + one, "b==1" + one, "c==1"}, {"a==1" + one, "b==2" + two, "c==1" + one}) ==
        "b 1 is 2");
  CHECK(deploy::package_changes({"a==1" + one}, {"a==1" + two, "n==3" + one}) == "a 1 is another file, n 3 is new");
}

TEST_CASE("the culprit is who loses with the whole interval", "[blame]") {
  auto causes = deploy::candidate_causes(built("aaaa", "g++ 12", "6.1"), built("bbbb", "g++ 13", "6.2"),
                                         {.old_program = true, .old_compiler = "g++-12"});
  REQUIRE(causes.size() == 3);
  causes[0].measured = pairs_say(-6, measure::Verdict::Slower);
  causes[1].measured = pairs_say(-0.5, measure::Verdict::Undecided);
  const auto blame = deploy::conclude(causes, std::nullopt);
  CHECK(blame.told);
  CHECK(blame.culprits == std::vector<std::string>{"program"});
  CHECK_THAT(blame.sentence, ContainsSubstring("program (aaaa → bbbb): -6.0 % (-7.0 to -5.0 %, 6 pairs)"));

  causes[0].measured = pairs_say(0, measure::Verdict::Same);
  causes[1].measured = pairs_say(0, measure::Verdict::Same);
  const auto kernel = deploy::conclude(causes, std::nullopt);
  CHECK_FALSE(kernel.told);
  CHECK(kernel.culprits.empty());
  CHECK_THAT(kernel.sentence, ContainsSubstring("system.kernel"));
  CHECK(kernel.sentence.find("program") == std::string::npos);  // it is cleared
}

TEST_CASE("where nothing that is recorded changed, that is the answer, or the doubt", "[blame]") {
  CHECK(deploy::conclude({}, std::nullopt).told);
  const auto slower = deploy::conclude({}, deploy::WholeChange{.log_ratio = 0.3, .explained = 0.1});
  CHECK_FALSE(slower.told);
  CHECK_THAT(slower.sentence, ContainsSubstring("what else runs here"));
}

TEST_CASE("the compiler of then is found whatever its file is called", "[blame]") {
  const std::vector<measure::Compiler> installed = {
      {.name = "g++", .path = "/usr/bin/g++", .version = "g++ (Debian 14.2.0-19) 14.2.0"},
      {.name = "g++-12", .path = "/usr/bin/g++-12", .version = "g++-12 (Debian 12.2.0-14) 12.2.0"}};
  const db::BuildRecord then{.compiler = "g++ (Debian 12.2.0-14) 12.2.0"};
  CHECK(deploy::compiler_of_then(installed, then) == "/usr/bin/g++-12");
  CHECK(deploy::compiler_of_then(installed, db::BuildRecord{.compiler = "g++ (Debian 13.1.0-1) 13.1.0"}).empty());
  CHECK(deploy::compiler_of_then(installed, std::nullopt).empty());
}

namespace {

/// The program of then beside the present one: which it is says its argv.
struct BlameFixture {
  BlameFixture() {
    deploy::BlamedResult result{.name = "evening"};
    result.workload = {.network = "mnist_cnn", .data = "mnist", .optimizer = "adadelta", .training_examples = 1000};
    result.configuration.set("threads", std::int64_t{2});
    result.configuration.set("huge_pages", true);
    auto parsed = tuner::parse_campaign(deploy::blame_campaign(result).dump(), "blame", "/", space::Facts());
    if (!parsed) FAIL(tuner::to_text(parsed.error()));
    spec = std::move(*parsed);
    REQUIRE(spec->space.default_configuration() == result.configuration);
    executor.artifact = "now";
    present = executor.ready_to_start();
    add_cause("program", "/then/worker", "then");
    machine.set({.name = "cpu.model", .value = "A CPU", .match = space::Match::Must});
  }
  void add_cause(const std::string& name, const std::string& program, const std::string& artifact) {
    tests.push_back({.cause = causes.size(), .other = present});
    tests.back().other.argv = {program};
    tests.back().other.artifact = artifact;
    causes.push_back({.name = name, .apart = deploy::Apart::Program});
  }
  /// A session that ends without a last word, as one that was killed.
  deploy::PresentTimes measure(std::function<bool(std::chrono::nanoseconds)> time_for, bool closes = false) {
    auto store = db::Store::open(database(), db::Mode::ReadWrite);
    auto record = deploy::BlameRecord::open(store, *spec, machine, present.schedule,
                                            deploy::blamed_programs(present, tests, causes));
    found = record.found();
    generation = record.generation();
    tuner::Session session{.spec = *spec,
                           .store = store,
                           .executor = executor,
                           .observer = observer,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now = {},
                           .fingerprint = machine,
                           .slot_folder = folder.path()};
    auto times = deploy::measure_programs({.session = session,
                                           .record = record,
                                           .present = present,
                                           .policy = {.pairs = 4, .most_pairs = 8},
                                           .time_for = std::move(time_for)},
                                          tests, causes);
    if (closes) record.close(!times.cut_short);
    return times;
  }
  /// Time for so many pairs or runs and no more.
  static std::function<bool(std::chrono::nanoseconds)> time_for_only(int number) {
    return [left = number](std::chrono::nanoseconds) mutable { return left-- > 0; };
  }
  [[nodiscard]] std::filesystem::path database() const { return folder.path() / "kept.db"; }

  test::TemporaryFolder folder;
  space::Fingerprint machine;
  std::int64_t found = 0, generation = 0;
  std::optional<tuner::CampaignSpec> spec;
  test::FakeExecutor executor;
  tuner::SystemClock clock;
  tuner::Interruption interruption;
  tuner::PreparedWorker present;
  tuner::Observer observer;
  std::vector<deploy::CandidateCause> causes;
  std::vector<deploy::CauseTest> tests;
};

}  // namespace

TEST_CASE("a present program that is slower than the one of then is the culprit", "[blame]") {
  BlameFixture fixture;
  // The present one, on either side, takes 8 % more.
  fixture.executor.plan_factor = [](const measure::RunPlan& plan) {
    return plan.argv.front() == "/then/worker" ? 1.0 : 1.08;
  };
  const auto times = fixture.measure([](auto) { return true; });
  CHECK_FALSE(times.cut_short);
  REQUIRE(fixture.causes.front().measured);
  CHECK(fixture.causes.front().measured->verdict == measure::Verdict::Slower);
  CHECK(std::abs(fixture.causes.front().measured->gain_percent - 100 * (1 / 1.08 - 1)) < 0.1);
  CHECK(fixture.causes.front().measured->pairs == 4);
  CHECK(times.seconds.size() == 4);
  CHECK(deploy::conclude(fixture.causes, std::nullopt).culprits == std::vector<std::string>{"program"});
}

TEST_CASE("without time no pair is begun, and nothing is told", "[blame]") {
  BlameFixture fixture;
  const auto times = fixture.measure([](auto) { return false; });
  CHECK(times.cut_short);
  CHECK(fixture.executor.pairs == 0);
  CHECK_FALSE(fixture.causes.front().measured);
  CHECK_FALSE(deploy::conclude(fixture.causes, deploy::WholeChange{.log_ratio = 0.5, .explained = 0.1}).told);
}

TEST_CASE("where nothing can be set apart the present program alone is measured against then", "[blame]") {
  BlameFixture fixture;
  fixture.tests.clear();
  const auto times = fixture.measure([](auto) { return true; });
  CHECK(times.seconds.size() == 3);
  const double seconds = times.seconds.front();
  const auto change = deploy::whole_change(times, space::Estimate{.value = seconds / 1.3, .runs = 3}, 0.05, 1);
  REQUIRE(change);
  CHECK(std::abs(std::exp(change->log_ratio) - 1.3) < 1e-3);
  CHECK(change->log_ratio > change->explained);
  CHECK_FALSE(deploy::whole_change(times, std::nullopt, 0.05, 1));
}

TEST_CASE("a blame that was killed goes on with the pairs that are stored", "[blame]") {
  BlameFixture fixture;
  fixture.executor.plan_factor = [](const measure::RunPlan& plan) {
    return plan.argv.front() == "/then/worker" ? 1.0 : 1.08;
  };
  (void)fixture.measure(BlameFixture::time_for_only(3));
  CHECK(fixture.executor.pairs == 3);
  const bool closes = GENERATE(false, true);  // killed once more, or interrupted, which it still can tell
  fixture.executor.id_suffix = "b";
  const auto cut = fixture.measure(BlameFixture::time_for_only(0), closes);
  CHECK(cut.cut_short);
  CHECK(fixture.found == 3);
  fixture.executor.id_suffix = "c";
  const auto times = fixture.measure([](auto) { return true; }, true);
  CHECK(fixture.generation == 1);
  CHECK(fixture.executor.pairs == 4);
  CHECK(times.seconds.size() == 4);
  REQUIRE(fixture.causes.front().measured);
  CHECK(fixture.causes.front().measured->pairs == 4);
  CHECK(fixture.causes.front().measured->verdict == measure::Verdict::Slower);

  {
    const auto store = db::Store::open(fixture.database(), db::Mode::ReadOnly);
    const auto campaign = store.find_campaign("blame-evening");
    REQUIRE(campaign);
    CHECK(campaign->finished_unix_ns);
    const auto trials = store.list_trials({.campaign = campaign->id});
    REQUIRE(trials.size() == 2);
    CHECK(space::to_text(*trials[0].trial.configuration.find("program")) == "present now");
    CHECK(space::to_text(*trials[1].trial.configuration.find("program")) == "program of then then");
    for (const db::StoredTrial& each : trials) CHECK(each.trial.outcome == space::Outcome::Ok);
    const auto comparisons = store.comparisons(campaign->id);
    REQUIRE(comparisons.size() == 1);
    CHECK(comparisons[0].record.role == "blame");
    CHECK(comparisons[0].record.candidate == trials[0].trial.configuration);
    CHECK(comparisons[0].pairs.size() == 4);
    REQUIRE(comparisons[0].verdicts.size() == 1);
    CHECK(comparisons[0].verdicts[0].verdict == "slower");
  }
  // The next question is a new one.
  fixture.executor.id_suffix = "d";
  (void)fixture.measure(BlameFixture::time_for_only(1));
  CHECK(fixture.generation == 2);
  CHECK(fixture.found == 0);
}

TEST_CASE("pairs are measured the way that the machine's noise chose", "[blame]") {
  BlameFixture fixture;
  fixture.spec->verify.method = measure::PairMethod::Sequential;
  fixture.spec->verify.estimator = measure::StepEstimator::Median;
  fixture.executor.plan_factor = [](const measure::RunPlan& plan) {
    return plan.argv.front() == "/then/worker" ? 1.0 : 1.08;
  };
  (void)fixture.measure([](auto) { return true; });
  CHECK(fixture.executor.pairs == 0);  // none took turns
  CHECK(fixture.executor.run_plans.size() == 8);
  REQUIRE(fixture.causes.front().measured);
  CHECK(fixture.causes.front().measured->verdict == measure::Verdict::Slower);
  const auto store = db::Store::open(fixture.database(), db::Mode::ReadOnly);
  CHECK(store.comparisons(store.load_campaign("blame-evening").id).front().record.method == "sequential");
}

TEST_CASE("a pair that another hand kills is measured again, and no program is to blame for it", "[blame]") {
  BlameFixture fixture;
  fixture.spec->verify.method = measure::PairMethod::Sequential;
  fixture.spec->verify.estimator = measure::StepEstimator::Median;
  fixture.executor.signal = SIGKILL;
  fixture.executor.fate = [](std::size_t run, const space::Configuration&) {
    return run % 3 == 2 ? space::Outcome::Crashed : space::Outcome::Ok;  // every second pair
  };
  const auto times = fixture.measure([](auto) { return true; });
  CHECK_FALSE(times.cut_short);
  CHECK(times.seconds.size() == 4);
}

TEST_CASE("several candidate causes share the error by Holm", "[blame]") {
  BlameFixture fixture;
  fixture.add_cause("compiler", "/by/old/compiler", "then-compiler");
  fixture.executor.plan_factor = [](const measure::RunPlan& plan) {
    return plan.argv.front() == "/then/worker" ? 1.0 : 1.08;
  };
  fixture.executor.pair_noise = [](std::size_t) { return 0.001; };  // of the second side: to and fro between rounds
  (void)fixture.measure([](auto) { return true; });
  REQUIRE(fixture.causes[1].measured);
  CHECK(fixture.causes[0].measured->verdict == measure::Verdict::Slower);
  CHECK(fixture.causes[1].measured->verdict == measure::Verdict::Same);
  CHECK(deploy::conclude(fixture.causes, std::nullopt).culprits == std::vector<std::string>{"program"});
}

TEST_CASE("pairs of another program or another machine do not count", "[blame]") {
  BlameFixture fixture;
  (void)fixture.measure(BlameFixture::time_for_only(2));
  fixture.executor.id_suffix = "b";
  SECTION("the present program was built anew") {
    fixture.present.artifact = "newer";
  }
  SECTION("the program of then is another") {
    fixture.tests.front().other.artifact = "older";
  }
  SECTION("the machine has another kernel") {
    fixture.machine.set({.name = "system.kernel", .value = "6.2", .match = space::Match::Verify});
  }
  const auto times = fixture.measure(BlameFixture::time_for_only(1));
  CHECK(fixture.found == 0);
  CHECK(fixture.generation == 2);
  CHECK(times.seconds.size() == 1);
}

TEST_CASE("lone runs of the present program are kept, too", "[blame]") {
  BlameFixture fixture;
  fixture.tests.clear();
  (void)fixture.measure(BlameFixture::time_for_only(2));
  fixture.executor.id_suffix = "b";
  const auto times = fixture.measure([](auto) { return true; }, true);
  CHECK(fixture.found == 2);
  CHECK(fixture.executor.run_plans.size() == 3);
  CHECK(times.seconds.size() == 3);
  CHECK_FALSE(times.cut_short);
}

TEST_CASE("a profile without a database says what it knows of then", "[blame]") {
  const deploy::Profile profile = test::sample_profile();
  const deploy::BlameBaseline found = deploy::blame_baseline(profile, nullptr);
  CHECK(found.result.configuration == profile.configuration);
  CHECK(found.result.steps == 40);
  CHECK(found.then.artifact == "00ff");
  CHECK(found.program == "/opt/builds/k/worker");
  CHECK(found.then.machine.find("kernel")->value == "6.1");
  CHECK_FALSE(found.then.build);
  CHECK(found.result.worker.is_null());
}
