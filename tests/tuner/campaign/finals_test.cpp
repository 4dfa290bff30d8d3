#include "tuner/campaign/finals/finals.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/comparison/noise.hpp"
#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/answer/tradeoffs.hpp"
#include "tuner/deploy/proof.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

tuner::CampaignSpec spec_with_verify(const std::string& verify) {
  const std::string text = R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 6], "default": 1}]},
    "strategy": {"name": "exhaustive"}, "verify": )" +
                           verify + "}";
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

std::int64_t threads_of(const space::Configuration& configuration) {
  return std::get<std::int64_t>(*configuration.find("threads"));
}

/// Seconds a step by number of threads: 4 and 5 are the best, 4 by a little.
double step_of(const space::Configuration& configuration) {
  const std::map<std::int64_t, double> steps = {{1, 0.10}, {2, 0.08}, {3, 0.07}, {4, 0.050}, {5, 0.052}, {6, 0.09}};
  return steps.at(threads_of(configuration));
}

/// Likewise, of which all but the default are hard to tell apart by single processes.
double step_with_equals(const space::Configuration& configuration) {
  const std::map<std::int64_t, double> steps = {{1, 0.10}, {2, 0.053}, {3, 0.0525}, {4, 0.050}, {5, 0.052}, {6, 0.054}};
  return steps.at(threads_of(configuration));
}

/// Of that role; empty: of all.
std::vector<db::StoredComparison> comparisons_in(const CampaignFolder& folder, const std::string& role = "") {
  const auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  auto comparisons = store.comparisons(store.find_campaign("test").value().id);
  if (!role.empty())
    std::erase_if(comparisons, [&](const db::StoredComparison& each) { return each.record.role != role; });
  return comparisons;
}

}  // namespace

TEST_CASE("the winner is chosen in pairs, not by one low estimate, and reported from fresh ones", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = step_of;
  // With 5 threads the one process that the search saw was fast by chance.
  campaign_fixture.executor.process_sd = [](const space::Configuration& each) {
    return threads_of(each) == 5 ? 0.93 : 1.0;
  };
  REQUIRE(campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "selection_pairs": 9})")).ending ==
          tuner::Ending::Complete);
  const tuner::Answer answer = campaign_fixture.answer();
  REQUIRE(answer.best);
  CHECK(threads_of(answer.best->trial.configuration) == 4);
  REQUIRE(answer.verdict);
  CHECK(answer.verdict->pairs == 6);
  CHECK(answer.changes.size() == 1);

  const auto chosen_by = comparisons_in(folder, "select");
  CHECK(std::ranges::any_of(chosen_by, [](const db::StoredComparison& each) {
    const auto both = std::minmax({threads_of(each.record.baseline), threads_of(each.record.candidate)});
    return both.first == 4 && both.second == 5;
  }));
  const auto reported_by = comparisons_in(folder, "verify");
  REQUIRE(reported_by.size() == 1);
  CHECK(threads_of(reported_by[0].record.baseline) == 1);
  CHECK(reported_by[0].pairs.size() == 6);
}

TEST_CASE("a winner that is slower than the default when measured again is none: another is chosen", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  // With 5 threads it is fast until the first verdict is due.
  const auto chosen = [&] { return !comparisons_in(folder, "verify").empty(); };
  campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) {
    if (threads_of(each) != 5) return step_of(each);
    return chosen() ? 0.12 : 0.040;
  };
  REQUIRE(campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "selection_pairs": 40, "simplify": false})")).ending ==
          tuner::Ending::Complete);
  const auto verdicts = comparisons_in(folder, "verify");
  REQUIRE(verdicts.size() == 2);
  CHECK(threads_of(verdicts[0].record.candidate) == 5);
  CHECK(verdicts[0].verdicts.front().verdict == "slower");
  CHECK(threads_of(verdicts[1].record.candidate) == 4);
  const tuner::Answer answer = campaign_fixture.answer();
  CHECK(threads_of(answer.best->trial.configuration) == 4);
  CHECK(answer.verified_faster());
  CHECK(std::ranges::any_of(campaign_fixture.watcher.notes, [](const std::string& note) {
    return note.contains("is slower than the default when measured again");
  }));
}

TEST_CASE("a default whose trial was disturbed is judged by its pairs, and what is chosen with it", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  // Six threads are half as fast as the default, which a neighbour made ten times as slow in its one trial.
  const auto steps = [](const space::Configuration& each) { return threads_of(each) == 1 ? 0.05 : 0.1; };
  campaign_fixture.executor.step_seconds = steps;
  campaign_fixture.executor.process_sd = [](const space::Configuration& each) {
    return threads_of(each) == 1 ? 10.0 : 1.0;
  };
  REQUIRE(campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "selection_pairs": 9, "simplify": false})")).ending ==
          tuner::Ending::Complete);
  CHECK(comparisons_in(folder, "verify").size() == 1);  // the default is the fastest of those that are left
  CHECK(std::ranges::count_if(campaign_fixture.watcher.notes, [](const std::string& note) {
          return note.contains("trial 0 took 10.00 times what it takes in 6 pairs: it was disturbed");
        }) == 1);
  const tuner::Answer answer = campaign_fixture.answer();
  REQUIRE(answer.verdict);
  CHECK(answer.verdict->verdict == "slower");
  CHECK(campaign_fixture.reading().best(answer.campaign.id)->trial.number == 0);
  CHECK(answer.baseline->trial.parts->steady_step == Catch::Approx(0.05));
  CHECK(answer.baseline->trial.estimate->value ==
        Catch::Approx(space::total_time(*answer.baseline->trial.parts, answer.objective.primary)));
}

TEST_CASE("where all turn out to be slower three are judged, and the campaign is complete", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  const auto chosen = [&] { return !comparisons_in(folder, "verify").empty(); };
  campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) {
    return threads_of(each) != 1 && chosen() ? 0.2 : step_of(each);
  };
  REQUIRE(campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "selection_pairs": 40, "simplify": false})")).ending ==
          tuner::Ending::Complete);
  const auto verdicts = comparisons_in(folder, "verify");
  CHECK(verdicts.size() >= 1);
  CHECK(verdicts.size() <= 3);
  for (const db::StoredComparison& each : verdicts) CHECK(each.verdicts.front().verdict == "slower");
  CHECK_FALSE(campaign_fixture.answer().verified_faster());
}

TEST_CASE("the pairs give a verdict for any number of epochs, not only the campaign's", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = step_of;
  (void)campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "finalists": 1, "simplify": false})"));
  const auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  const auto campaign = store.find_campaign("test").value();
  const auto at_ninety = tuner::answer_of(store, campaign, 90);
  REQUIRE(at_ninety.verdict);
  CHECK(at_ninety.verdict->horizon_epochs == 90);
  CHECK(at_ninety.verdict->pairs == 6);
  CHECK(at_ninety.verdict->verdict == "faster");
  CHECK(deploy::missing_proof(at_ninety).empty());

  const auto break_evens = tuner::stored_break_evens(store, campaign, store.list_trials({}));
  REQUIRE(break_evens.size() == 1);
  CHECK(break_evens.front().baseline == 0);
  CHECK(break_evens.front().result.at_last == measure::Lead::Candidate);
}

TEST_CASE("with one finalist the smallest estimate is measured again, and nothing else", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = step_of;
  campaign_fixture.executor.process_sd = [](const space::Configuration& each) {
    return threads_of(each) == 5 ? 0.93 : 1.0;
  };
  (void)campaign_fixture.sit(spec_with_verify(R"({"pairs": 2, "finalists": 1})"));
  CHECK(threads_of(campaign_fixture.answer().best->trial.configuration) == 5);
  CHECK(comparisons_in(folder).size() == 1);
}

TEST_CASE("finalists meet each other, not the default alone, and the gain is from pairs of its own", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = step_with_equals;
  campaign_fixture.executor.pair_noise = [](std::size_t pair) { return pair % 2 == 0 ? 0.0005 : -0.0005; };
  REQUIRE(campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "selection_pairs": 12, "simplify": false})")).ending ==
          tuner::Ending::Complete);
  std::size_t among_finalists = 0, select_pairs = 0, verify_pairs = 0;
  for (const auto& each : comparisons_in(folder)) {
    (each.record.role == "select" ? select_pairs : verify_pairs) += each.pairs.size();
    if (each.record.role == "select" && threads_of(each.record.baseline) != 1 && threads_of(each.record.candidate) != 1)
      among_finalists += each.pairs.size();
  }
  CHECK(among_finalists >= 3);
  CHECK(select_pairs <= 12);
  const tuner::Answer answer = campaign_fixture.answer();
  CHECK(threads_of(answer.best->trial.configuration) == 4);
  CHECK(answer.verdict->pairs == static_cast<std::int64_t>(verify_pairs));
  CHECK(campaign_fixture.executor.pairs == select_pairs + verify_pairs);
  CHECK(answer.price.search == 6);
  CHECK(answer.price.choice == static_cast<std::int64_t>(2 * select_pairs));
  CHECK(answer.price.verdict == static_cast<std::int64_t>(2 * verify_pairs));
  REQUIRE(answer.price.next_hour);
  CHECK(answer.price.next_hour->pairs > static_cast<int>(verify_pairs));
  const double sd = measure::sd_of_interval((answer.verdict->log_ratio_high - answer.verdict->log_ratio_low) / 2,
                                            static_cast<int>(verify_pairs), answer.verdict->confidence);
  CHECK(answer.price.next_hour->resolution_percent ==
        Catch::Approx(measure::resolution_percent(sd, answer.price.next_hour->pairs)));
}

TEST_CASE("a choice that was interrupted goes on where it ended", "[finals]") {
  const CampaignFolder folder;
  const auto spec = spec_with_verify(R"({"pairs": 6, "selection_pairs": 3, "simplify": false})");
  CampaignFixture first(folder);
  first.executor.step_seconds = step_with_equals;
  first.executor.pair_noise = [&](std::size_t pair) {
    if (pair == 1) first.interruption.abandon();  // this pair is complete; no further one begins
    return 0.0;
  };
  CHECK(first.sit(spec).ending == tuner::Ending::Interrupted);
  CampaignFixture second(folder);
  second.executor.step_seconds = step_with_equals;
  second.executor.id_suffix = "b";
  CHECK(second.sit(spec).ending == tuner::Ending::Complete);
  CHECK(first.executor.pairs == 2);
  CHECK(second.executor.pairs <= 1 + 6);
  std::size_t chosen_by = 0, stored = 0;
  for (const auto& each : comparisons_in(folder)) {
    stored += each.pairs.size();
    chosen_by += each.record.role == "select" ? each.pairs.size() : 0;
  }
  CHECK(chosen_by <= 3);
  CHECK(stored == first.executor.pairs + second.executor.pairs);
  CHECK(threads_of(second.answer().best->trial.configuration) == 4);
}

TEST_CASE("what is undecided is measured further, at looks planned beforehand, and no longer than that", "[finals]") {
  // Pairs swing by ±20 % about a gain of 2 %: no number of pairs up to 12 tells.
  const auto noise = [](std::size_t pair) { return pair / 2 % 2 == 0 ? 0.2 : -0.2; };
  const auto nearly = [](const space::Configuration& each) { return threads_of(each) == 3 ? 0.098 : 0.1 + 0.02; };
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.pair_noise = noise;
  campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) {
    return threads_of(each) == 1 ? 0.1 : nearly(each);
  };
  (void)campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "most_pairs": 12, "finalists": 1})"));
  const tuner::Answer answer = campaign_fixture.answer();
  REQUIRE(answer.verdict);
  CHECK(answer.verdict->verdict == "undecided");
  CHECK(answer.verdict->pairs == 12);
  CHECK(answer.verdict->confidence == 0.95);
  CHECK_THAT(
      deploy::missing_proof(answer),
      ContainsSubstring("may be slower than the default") &&
          ContainsSubstring("raise 'verify.most_pairs' in the campaign's file and run 'nocturne tune FILE' again"));

  tuner::Answer of_command = answer;
  of_command.campaign.spec["worker"]["template"] = {"python3", "train.py"};
  CHECK_THAT(deploy::missing_proof(of_command),
             ContainsSubstring("'nocturne tune --write-campaign FILE -- COMMAND', raise its 'verify.most_pairs'"));
  of_command.verdict->pairs = 8;  // the time ended first
  CHECK_THAT(deploy::missing_proof(of_command),
             ContainsSubstring("run 'nocturne tune -- COMMAND' again with a longer --wall"));
}

TEST_CASE("a pair may last as long as the deadlines of both sides, and ten minutes at least", "[finals]") {
  for (const auto& [deadline, limit] : {std::pair{std::chrono::minutes(2), std::chrono::minutes(10)},
                                        {std::chrono::minutes(30), std::chrono::minutes(61)}}) {
    const CampaignFolder folder;
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.step_seconds = step_of;
    campaign_fixture.executor.deadline = deadline;
    REQUIRE(campaign_fixture.sit(spec_with_verify(R"({"pairs": 2, "finalists": 1})")).ending ==
            tuner::Ending::Complete);
    CHECK(campaign_fixture.executor.pair_limit == limit);
  }
}

TEST_CASE("a verdict stays as it was when a later session finds nothing left to measure", "[finals]") {
  // A gain of 16 % under ±20 % in the first six pairs and none in the others: decided at the last look, after twelve.
  const auto step = [](const space::Configuration& each) {
    const std::int64_t threads = threads_of(each);
    return threads == 1 ? 0.1 : threads == 3 ? 0.1 * std::exp(-0.16) : 0.12;
  };
  const CampaignFolder folder;
  CampaignFixture first(folder);
  first.executor.step_seconds = step;
  first.executor.pair_noise = [](std::size_t pair) { return pair < 6 ? 0.2 : 0.0; };
  auto spec = spec_with_verify(R"({"pairs": 6, "most_pairs": 12, "finalists": 1, "simplify": false})");
  REQUIRE(first.sit(spec).ending == tuner::Ending::Complete);
  const tuner::Answer before = first.answer();
  REQUIRE(before.verdict);
  CHECK(before.verdict->pairs == 12);
  CHECK(before.verdict->verdict == "faster");

  CampaignFixture second(folder);
  second.executor.id_suffix = "b";
  second.executor.step_seconds = step;
  spec.budget.trials = 100;
  spec.document["budget"]["trials"] = 100;
  REQUIRE(second.sit(spec).ending == tuner::Ending::Complete);
  CHECK(second.executor.pairs == 0);
  const tuner::Answer after = second.answer();
  REQUIRE(after.verdict);
  CHECK(after.verdict->pairs == 12);
  // As at the look that decided, not as strictly as at the first one.
  CHECK(after.verdict->log_ratio_low == before.verdict->log_ratio_low);
  CHECK(after.verdict->log_ratio_high == before.verdict->log_ratio_high);
}

TEST_CASE("a clear difference needs no more than the first look", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = step_of;
  (void)campaign_fixture.sit(spec_with_verify(R"({"pairs": 6, "most_pairs": 40, "finalists": 1})"));
  const tuner::Answer answer = campaign_fixture.answer();
  CHECK(answer.verified_faster());
  CHECK(answer.verdict->pairs == 6);
  CHECK(deploy::missing_proof(answer).empty());
}

TEST_CASE("a later session may come back to what an earlier one chose", "[finals]") {
  const CampaignFolder folder;
  const auto chosen_with = [&](const std::string& verify, const std::string& suffix) {
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.id_suffix = suffix;
    campaign_fixture.executor.step_seconds = step_of;
    campaign_fixture.executor.process_sd = [](const space::Configuration& each) {
      return threads_of(each) == 5 ? 0.93 : 1.0;
    };
    REQUIRE(campaign_fixture.sit(spec_with_verify(verify)).ending == tuner::Ending::Complete);
    const tuner::Answer answer = campaign_fixture.answer();
    REQUIRE(answer.best);
    REQUIRE(answer.verdict);
    return threads_of(answer.best->trial.configuration);
  };
  const std::string by_pairs = R"({"pairs": 6, "selection_pairs": 9})";
  CHECK(chosen_with(by_pairs, "a") == 4);
  CHECK(chosen_with(R"({"pairs": 6, "finalists": 1})", "b") == 5);
  CHECK(chosen_with(by_pairs, "c") == 4);
  CHECK(comparisons_in(folder, "verify").size() == 2);  // of each with the default
}

TEST_CASE("a better trial found later makes the old choice no answer any more", "[finals]") {
  const CampaignFolder folder;
  CampaignFixture first(folder);
  first.executor.step_seconds = [](const space::Configuration& each) { return threads_of(each) == 2 ? 0.05 : 0.1; };
  auto spec = spec_with_verify(R"({"pairs": 2, "finalists": 1})");
  spec.budget.trials = 3;
  spec.document["budget"]["trials"] = 3;
  (void)first.sit(spec);
  const auto before = threads_of(first.answer().best->trial.configuration);
  CampaignFixture second(folder);
  second.executor.id_suffix = "b";
  second.executor.step_seconds = [&](const space::Configuration& each) {
    return threads_of(each) == before ? 0.05 : 0.01;
  };
  second.executor.fate = [&](std::size_t, const space::Configuration&) { return space::Outcome::Ok; };
  spec.budget.trials = 5;
  spec.document["budget"]["trials"] = 5;
  (void)second.sit(spec);
  CHECK(threads_of(second.answer().best->trial.configuration) != before);
  CHECK(second.answer().verdict);
}

}  // namespace nocturne::test
