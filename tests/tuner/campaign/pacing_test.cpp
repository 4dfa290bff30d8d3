#include "tuner/campaign/pacing.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;
using tuner::PaceState;

TEST_CASE("a budget of trials ends the search exactly there", "[pacing]") {
  const tuner::Budget budget{.trials = 10};
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.finished_trials = 9}));
  CHECK(tuner::search_ends(budget, PaceState{.finished_trials = 10}));
}

TEST_CASE("without a budget the search never ends by itself", "[pacing]") {
  CHECK_FALSE(tuner::search_ends({}, PaceState{.finished_trials = 1'000'000, .spent = 1000h}));
}

TEST_CASE("a run of the search leaves the time of a verdict, but is waited for some times what the default takes",
          "[pacing]") {
  const tuner::Budget budget{.wall = 100s};
  const PaceState half{.spent = 50s, .verdict = 20s};
  CHECK(tuner::run_limit(budget, half, 5s) == 24s);   // a verdict takes 1.3 times its forecast at most
  CHECK(tuner::run_limit(budget, half, 10s) == 30s);  // three times the default's
  CHECK_FALSE(tuner::run_limit({}, half, 5s));
  // Until the end, where none is kept: for which there is no room, or which was given.
  CHECK(tuner::run_limit(budget, PaceState{.spent = 50s, .verdict = 70s}, 5s) == 50s);
  CHECK(tuner::run_limit(budget, PaceState{.spent = 50s, .verdict = 30s, .no_verdict = true}, 5s) == 50s);
  CHECK(tuner::run_limit(budget, PaceState{.spent = 50s, .verdict = 30s, .verified = true}, 5s) == 50s);
}

TEST_CASE("of a budget of time the share for measuring again is kept", "[pacing]") {
  const tuner::Budget budget{.wall = 100s};
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.spent = 70s, .next_trial = 10s, .finals = 0s}));
  CHECK(tuner::search_ends(budget, PaceState{.spent = 76s, .next_trial = 10s, .finals = 0s}));  // 76 + 10 + 15 > 100
  CHECK(tuner::search_ends(budget, PaceState{.spent = 60s, .next_trial = 1s, .finals = 40s}));  // a long forecast
  CHECK_FALSE(
      tuner::search_ends(budget, PaceState{.spent = 30s, .next_trial = 1s, .finals = 500s}));  // never over 60 %
  CHECK(tuner::search_ends(budget, PaceState{.spent = 40s, .next_trial = 1s, .finals = 500s}));
}

TEST_CASE("choosing and simplifying take no more than a tenth beyond what must be measured", "[pacing]") {
  tuner::Budget budget;
  budget.wall = 100s;
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.spent = 55s, .next_trial = 1s, .finals = 30s, .choice = 500s}));
  CHECK(tuner::search_ends(budget, PaceState{.spent = 60s, .next_trial = 1s, .finals = 30s, .choice = 500s}));
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.spent = 60s, .next_trial = 1s, .finals = 30s, .choice = 5s}));
}

TEST_CASE("after the finals only the time of a further verdict is kept", "[pacing]") {
  const tuner::Budget budget{.wall = 100s};
  PaceState state{.spent = 70s, .next_trial = 5s, .finals = 10s, .choice = 500s, .verified = true};
  CHECK_FALSE(tuner::search_ends(budget, state));
  state.spent = 86s;
  CHECK(tuner::search_ends(budget, state));
  state.finals = 70s;  // never fits: of 14 s, 5.6 s are left for the search
  CHECK_FALSE(tuner::search_ends(budget, state));
  state.spent = 88s;
  CHECK(tuner::search_ends(budget, state));
  const tuner::Budget night{.until = space::TimeOfDay{7, 0}};
  CHECK_FALSE(tuner::search_ends(
      night, {.until_left = 30s, .next_trial = 5s, .finals = 10s, .choice = 500s, .verified = true}));
}

TEST_CASE("the search goes on after the finals where three trials and a verdict fit", "[pacing]") {
  const tuner::Budget budget{.wall = 100s};
  const PaceState state{.spent = 74s, .next_trial = 5s, .finals = 10s};
  CHECK(tuner::is_time_for_more(budget, state));  // 74 + 15 + 10 < 100
  CHECK_FALSE(tuner::is_time_for_more(budget, {.spent = 76s, .next_trial = 5s, .finals = 10s}));
  CHECK_FALSE(tuner::is_time_for_more({.trials = 3}, state));
  CHECK_FALSE(tuner::is_time_for_more({.trials = 3, .wall = 100s}, {.finished_trials = 3}));
  CHECK(
      tuner::is_time_for_more({.until = space::TimeOfDay{7, 0}}, {.until_left = 26s, .next_trial = 5s, .finals = 10s}));
  CHECK_FALSE(
      tuner::is_time_for_more({.until = space::TimeOfDay{7, 0}}, {.until_left = 24s, .next_trial = 5s, .finals = 10s}));
}

TEST_CASE("nothing is kept for a verdict that cannot fit, or for which there was no time", "[pacing]") {
  const tuner::Budget budget{.wall = 100s};
  CHECK(tuner::search_ends(budget, PaceState{.spent = 60s, .next_trial = 10s, .finals = 90s, .verdict = 60s}));
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.spent = 90s, .next_trial = 10s, .finals = 90s, .verdict = 61s}));
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.spent = 90s, .next_trial = 10s, .no_verdict = true}));
}

TEST_CASE("until three others have trained only a verdict's time is kept, and until one has, none", "[pacing]") {
  const tuner::Budget budget{.wall = 100s};
  PaceState state{.spent = 45s, .next_trial = 10s, .finals = 90s, .verdict = 20s};  // kept: 60 s; of a verdict: 26 s
  CHECK(tuner::search_ends(budget, state));
  state.rivals = 2;
  CHECK_FALSE(tuner::search_ends(budget, state));
  state.spent = 65s;
  CHECK(tuner::search_ends(budget, state));
  state.rivals = 0;
  CHECK_FALSE(tuner::search_ends(budget, state));
  state.spent = 91s;
  CHECK(tuner::search_ends(budget, state));
  state = {.rivals = 2, .spent = 80s, .next_trial = 4s, .finals = 10s, .verdict = 20s};
  CHECK_FALSE(tuner::search_ends(budget, state));  // never more than is kept later
}

TEST_CASE("for epochs that take more than a quarter of the time none is kept", "[pacing]") {
  const space::Parts parts{.steps_per_epoch = 100, .steady_step = 0.1};
  const tuner::VerifySettings verify{.accuracy_epochs = 1};
  const auto both = tuner::forecast_accuracy(verify, parts, parts);
  CHECK(both == 2 * tuner::forecast_accuracy(verify, parts));
  CHECK(tuner::reserved_accuracy(verify, parts, parts, {}) == both);
  CHECK(tuner::reserved_accuracy(verify, parts, parts, 4 * both) == both);
  CHECK(tuner::reserved_accuracy(verify, parts, parts, 4 * both - 1s) == 0s);
}

TEST_CASE("a verdict takes three pairs at least, and the gate's steps", "[pacing]") {
  const tuner::Pace side = tuner::pace_of(space::Parts{.import = 1, .steady_step = 0.1});
  tuner::VerifySettings verify{.gate = {.on = false}};
  const auto pair = tuner::forecast_pair(verify, side, side);
  CHECK(tuner::forecast_verdict(verify, side, side) == 3 * pair);
  CHECK(tuner::forecast_verdict(verify, side, side, 7s) == 21s);
  verify.gate.on = true;
  CHECK(tuner::forecast_verdict(verify, side, side) == 3 * pair + tuner::forecast_gate(verify, side.parts));
  verify.pairs = 2;  // as the campaign wants it
  CHECK(tuner::fewest_pairs(verify) == 2);
}

TEST_CASE("a budget has room for a verdict that takes three fifths of it, and is enough at two", "[pacing]") {
  CHECK(tuner::has_room(100s, 60s));
  CHECK_FALSE(tuner::has_room(100s, 61s));
  CHECK(tuner::wall_for(24s) == 1min);
  CHECK(tuner::wall_for(25s) == 2min);
  CHECK(tuner::wall_for(0s) == 0min);
  CHECK(tuner::wall_for(24s, 30s) == 1min);  // which is what both take, the verdict with a quarter more
  CHECK(tuner::wall_for(24s, 31s) == 2min);
}

TEST_CASE("learning is judged by fewer steps where they would take more than a fifth of the time", "[pacing]") {
  const space::Parts script{.import = 1, .steady_step = 0.05};
  CHECK(tuner::learning_steps(script, std::nullopt) == 130);
  CHECK(tuner::learning_steps(script, 15min) == 130);
  // A batch eight times as large: three starts of 5 steps and six runs, each 1.4 s until its first step is done.
  const space::Parts larger{.import = 1, .steady_step = 0.4};
  const std::int64_t steps = tuner::learning_steps(larger, 15min);
  CHECK(steps < 130);
  CHECK(tuner::forecast_learning(larger, steps) <= 3min);
  CHECK(tuner::forecast_learning(larger, steps + 1) > 3min);
  // Fewer than 52 say more of chance than of the training.
  CHECK(tuner::learning_steps(larger, 1min) == 52);
  CHECK(tuner::forecast_learning(larger, 0) < tuner::forecast_learning(larger, 1));
}

TEST_CASE("what ends later than the budget by two percent of it is begun, and nothing that ends later", "[pacing]") {
  const std::chrono::steady_clock::time_point now(1000s);
  const tuner::TimeFrame frame{.whole = 100s, .end = now + 10s};
  CHECK(frame.has_time_for(12s, now));
  CHECK_FALSE(frame.has_time_for(12s + 1ms, now));
}

TEST_CASE("trials that fit into a budget are counted beside the finals", "[pacing]") {
  CHECK_FALSE(tuner::trials_in_budget({}, {.finished_trials = 3, .next_trial = 5s}));
  CHECK(tuner::trials_in_budget({.trials = 7}, {.finished_trials = 3, .next_trial = 5s}) == 7);
  // 100 - 20 spent - 15 kept: 13 of them.
  const PaceState state{.finished_trials = 3, .spent = 20s, .next_trial = 5s};
  CHECK(tuner::trials_in_budget({.wall = 100s}, state) == 16);
  CHECK(tuner::trials_in_budget({.trials = 7, .wall = 100s}, state) == 7);
  CHECK(tuner::trials_in_budget({.wall = 10s}, state) == 3);
  CHECK_FALSE(tuner::trials_in_budget({.wall = 100s}, {.spent = 20s}));  // nothing is known of trials
}

TEST_CASE("an hour of the day ends the search in time for the finals", "[pacing]") {
  const tuner::Budget budget{.until = space::TimeOfDay{7, 0}};
  CHECK_FALSE(tuner::search_ends(budget, PaceState{.session = 1h, .until_left = 5h, .next_trial = 30s, .finals = 60s}));
  CHECK(tuner::search_ends(budget, PaceState{.session = 5h, .until_left = 30min, .next_trial = 30s, .finals = 60s}));
}

TEST_CASE("an hour that is over for longer than the session lasts ends the search", "[pacing]") {
  const tuner::Budget budget{.until = space::TimeOfDay{7, 0}};
  CHECK(tuner::search_ends(budget, PaceState{.session = 1h, .until_left = -4h, .next_trial = 30s, .finals = 60s}));
}

TEST_CASE("time left is the smaller of both limits", "[pacing]") {
  CHECK_FALSE(tuner::time_left({}, {}));
  CHECK(tuner::time_left({.wall = 100s}, PaceState{.spent = 30s}) == 70s);
  CHECK(tuner::time_left({.wall = 100s}, PaceState{.spent = 30s, .until_left = 20s}) == 20s);
}

TEST_CASE("turns of both sides last about equally long", "[pacing]") {
  const tuner::VerifySettings verify{.slice_steps = 4};
  const space::Parts slow{.steady_step = 0.080}, fast{.steady_step = 0.020}, fastest{.steady_step = 1e-6};
  CHECK(tuner::slice_steps(verify, slow, fast).baseline == 4);
  CHECK(tuner::slice_steps(verify, slow, fast).candidate == 16);
  CHECK(tuner::slice_steps(verify, fast, slow).baseline == 16);
  CHECK(tuner::slice_steps(verify, slow, fastest).candidate == 64);
}

TEST_CASE("the forecast of the finals grows with pairs, epochs and slow sides", "[pacing]") {
  const space::Parts baseline{.import = 1, .steps_per_epoch = 100, .steady_step = 0.1};
  const space::Parts best{.import = 1, .steps_per_epoch = 100, .steady_step = 0.05};
  const tuner::VerifySettings verify;  // 6 pairs of 6 slices of 4 steps, one epoch
  // A pair: 2 s import, 0.15 s first steps, 6 slices of 0.4 s each side = 4.8 s; accuracy: 11 s and 6 s.
  const auto forecast = [&](const tuner::VerifySettings& settings) {
    return std::chrono::duration<double>(
               tuner::forecast_finals(settings, tuner::pace_of(baseline), tuner::pace_of(best)))
        .count();
  };
  tuner::VerifySettings alone = verify;
  alone.gate.on = false;
  const double without = 1.2 * (6 * (2.15 + 4.8) + 17);
  CHECK(std::abs(forecast(alone) - without) < 1e-6);
  // The gate: four times 1.1 s until the first step is done, and 4 steps; where seeds are asked for, 11 s each.
  const double exact = 1.2 * 4 * (1.1 + 0.4);
  alone.gate.on = true;
  CHECK(std::abs(forecast(alone) - without - exact) < 1e-6);
  alone.gate.seeds = 6;
  CHECK(std::abs(forecast(alone) - without - exact - 1.2 * 66) < 1e-6);
  // Twelve pairs of finalists, a simpler one in six: 2 s import, 0.1 s first steps, 2 × 6 × 0.2.
  const auto choice = [&](const tuner::VerifySettings& settings) {
    return std::chrono::duration<double>(tuner::forecast_choice(settings, tuner::pace_of(best))).count();
  };
  CHECK(std::abs(choice(verify) - 1.2 * 18 * (2.1 + 2.4)) < 1e-6);
  CHECK(choice({.finalists = 1, .simplify = false}) == 0);
}

TEST_CASE("epochs of the reference that nobody asked for are forecast where they take a tenth at most", "[pacing]") {
  const space::Parts parts{.import = 1, .steps_per_epoch = 100, .steady_step = 0.1};  // 11 s an epoch
  const tuner::VerifySettings verify{.accuracy_epochs = 1};
  const auto band = [&](const tuner::VerifySettings& settings, std::optional<std::chrono::nanoseconds> whole) {
    return std::chrono::duration<double>(tuner::forecast_band(settings, parts, whole)).count();
  };
  CHECK(band(verify, {}) == 0);
  CHECK(band(verify, 659s) == 0);
  CHECK(std::abs(band(verify, 661s) - 1.2 * 66) < 1e-6);
  CHECK(tuner::forecast_finals(verify, tuner::pace_of(parts), tuner::pace_of(parts), 661s) -
            tuner::forecast_finals(verify, tuner::pace_of(parts), tuner::pace_of(parts)) ==
        tuner::forecast_band(verify, parts, 661s));
  tuner::VerifySettings other = verify;
  other.gate.seeds = 4;
  CHECK(std::abs(band(other, 10s) - 1.2 * 44) < 1e-6);
  other = verify;
  other.accuracy_epochs = 0;  // there are no losses to be compared with them
  CHECK(band(other, 661s) == 0);
}

TEST_CASE("once pairs were measured the finals are forecast by what they took", "[pacing]") {
  const tuner::Pace side = tuner::pace_of(space::Parts{.import = 1, .steady_step = 0.1});
  const tuner::VerifySettings verify{.accuracy_epochs = 0, .gate = {.on = false}};
  CHECK(tuner::forecast_finals(verify, side, side, 420s, 7s) == 42s);
  CHECK(tuner::forecast_finals(verify, side, side, 420s) == 6 * tuner::forecast_pair(verify, side, side));
}

TEST_CASE("time is kept for more pairs where the budget has room for many, and looks are planned for them",
          "[pacing]") {
  tuner::VerifySettings verify;
  CHECK(tuner::reserved_pairs(verify, {}, 1s) == 6);  // no budget of time
  CHECK(tuner::reserved_pairs(verify, 60s, 1s) == 6);
  CHECK(tuner::reserved_pairs(verify, 120s, 1s) == 20);
  CHECK(tuner::reserved_pairs(verify, 3600s, 1s) == 40);
  CHECK(tuner::planned_pairs(verify, {}, 1s).most_pairs == 20);
  CHECK(tuner::planned_pairs(verify, 60s, 1s).most_pairs == 20);
  CHECK(tuner::planned_pairs(verify, 165s, 1s).most_pairs == 35);
  CHECK(tuner::planned_pairs(verify, 600s, 1s).most_pairs == 90);  // the share of the time that is always kept
  CHECK(tuner::planned_pairs(verify, 24h, 1s).most_pairs == 200);
  CHECK(tuner::planned_pairs(verify, 24h, 1s).pairs == 6);
  verify.most_pairs = 12;
  verify.most_pairs_given = true;
  CHECK(tuner::reserved_pairs(verify, 3600s, 1s) == 12);
  CHECK(tuner::planned_pairs(verify, 24h, 1s).most_pairs == 12);
}

TEST_CASE("a trial that is still to be run is forecast with all its processes", "[pacing]") {
  const space::Parts parts{.import = 1, .steady_step = 0.1};
  const auto forecast = tuner::forecast_trial({.steps = 40, .repeats = 2}, tuner::pace_of(parts));
  CHECK(std::abs(std::chrono::duration<double>(forecast).count() - 1.2 * 2 * (1.1 + 4)) < 1e-6);
}

TEST_CASE("a budget of time has an end, and a length over all sessions", "[pacing]") {
  const std::chrono::steady_clock::time_point now(1000s);
  CHECK_FALSE(tuner::time_frame({}, {}, now));
  const auto by_wall = tuner::time_frame({.wall = 100s}, PaceState{.spent = 30s, .session = 10s}, now);
  REQUIRE(by_wall);
  CHECK(by_wall->whole == 100s);
  CHECK(by_wall->end == now + 70s);
  const auto by_hour = tuner::time_frame({.wall = 100s}, PaceState{.spent = 30s, .until_left = 20s}, now);
  REQUIRE(by_hour);
  CHECK(by_hour->whole == 50s);
  CHECK(by_hour->end == now + 20s);
  const auto slept = tuner::time_frame({}, PaceState{.spent = 30s, .until_left = -12h, .finals = 40s}, now);
  REQUIRE(slept);
  CHECK(slept->end == now + 40s);
  CHECK(tuner::time_frame({.wall = 50s}, PaceState{.spent = 30s, .until_left = -12h, .finals = 40s}, now)->end ==
        now + 20s);
}

// A command prints a line for many images: its parts know images, its turns count lines.
TEST_CASE("pairs of a command last as long as its lines, or its runs, do", "[pacing]") {
  auto parsed = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 6], "default": 1}]}})",
                                      "test.json", "/", space::Facts());
  if (!parsed) FAIL(tuner::to_text(parsed.error()));
  tuner::CampaignSpec& spec = *parsed;
  spec.worker.own.groups = {{"train"}};
  spec.worker.own.timing = measure::Timing::Pattern;
  spec.worker.own.pattern = "(?P<samples_per_second>[0-9.]+) images/s";
  space::Trial trial{.fidelity = {.steps = 40}, .outcome = space::Outcome::Ok};
  trial.parts = space::Parts{.first_step_excess = 5, .steps_per_epoch = 60'000, .steady_step = 0.001};
  const tuner::VerifySettings verify{.slices = 6, .slice_steps = 4};
  const auto pair = [&](const tuner::Pace& side) {
    return std::chrono::duration<double>(tuner::forecast_pair(verify, side, side)).count();
  };
  // 40 lines in 33 - 5.001 s; two sides start, and have six turns of four lines.
  const double line = (33 - 5.001) / 40;
  CHECK(std::abs(pair(tuner::pace_of(spec, trial, 33s)) - 1.2 * 2 * (5.001 + 24 * line)) < 1e-6);
  // What is not known of a run, or cannot be, leaves what the parts say.
  CHECK(std::abs(pair(tuner::pace_of(spec, trial, 0s)) - 1.2 * 2 * (5.001 + 24 * 0.001)) < 1e-6);

  const db::StoredTrial stored{
      .trial = trial, .reserved_unix_ns = 0, .finished_unix_ns = std::int64_t{99'000'000'000}, .runs = 3};
  CHECK(tuner::pace_of(spec, stored).turn_step == tuner::pace_of(spec, trial, 33s).turn_step);

  spec.worker.own.timing = measure::Timing::Process;
  CHECK(std::abs(pair(tuner::pace_of(spec, trial, 33s)) - 66) < 1e-6);  // a whole run has its end in it
  trial.parts->steady_step = 40;
  CHECK(std::abs(pair(tuner::pace_of(spec, trial, 33s)) - 80) < 1e-6);
  trial.parts->steady_step = 0.001;
  spec.worker.own = {};
  CHECK(std::abs(pair(tuner::pace_of(spec, trial, 33s)) - 1.2 * 2 * (5.001 + 24 * 0.001)) < 1e-6);
}

// 30 steps of 10 ms are a third of a second; the process needs a second to begin and to end beside them. Each of the
// six turns has five steps that are not timed.
TEST_CASE("what a script's process does beside its steps is not each step's in its pairs", "[pacing]") {
  measure::CommandTemplate own;
  own.groups = {{"train"}};
  own.timing = measure::Timing::Steps;
  space::Trial trial{.fidelity = {.steps = 30}, .outcome = space::Outcome::Ok};
  trial.parts = space::Parts{.import = 2, .steps_per_epoch = 100, .steady_step = 0.01};
  const tuner::VerifySettings verify{.slices = 6, .slice_steps = 60};
  const auto side = [&](std::chrono::nanoseconds run) {
    const tuner::Pace pace = tuner::pace_of(own, trial, run);
    return std::chrono::duration<double>(tuner::forecast_pair(verify, pace, pace)).count() / 2;
  };
  CHECK(std::abs(side(3310ms) - 1.2 * (2.01 + 1 + 390 * 0.01)) < 1e-6);
  CHECK(std::abs(side(0s) - 1.2 * (2.01 + 390 * 0.01)) < 1e-6);
  CHECK(std::abs(std::chrono::duration<double>(
                     tuner::forecast_trial({.steps = 30, .repeats = 1}, tuner::pace_of(own, trial, 3310ms)))
                     .count() -
                 1.2 * 3.31) < 1e-6);

  // Where epochs end in a run, what is too long for a process' begin and end is an evaluation, and so is each in a
  // pair.
  trial.parts->steps_per_epoch = 15;
  CHECK(std::abs(side(3310ms) - 1.2 * (2.01 + 1 + 390 * 0.01)) < 1e-6);
  CHECK(std::abs(side(2310ms + 3s + 4s) - 1.2 * (2.01 + 3 + 390 * 0.01 + 26 * 2.0)) < 1e-6);
}

TEST_CASE("a forecast beyond all measure can still be multiplied", "[pacing]") {
  CHECK(tuner::forecast_of(1.5) == 1500ms);
  CHECK(tuner::forecast_of(-1) == 0s);
  for (const double seconds : {1e20, HUGE_VAL}) CHECK(tuner::forecast_of(seconds) * 1000 > 24h * 365 * 20);
}

TEST_CASE("a trial is expected to take what the last twenty took", "[pacing]") {
  CHECK(tuner::expected_trial({}) == 0s);
  std::vector<std::chrono::nanoseconds> durations(30, 2s);
  durations.front() = 1h;
  CHECK(tuner::expected_trial(durations) == 2s);
}

TEST_CASE("a clock that was set in a trial does not make it last for hours, or less than nothing", "[pacing]") {
  CHECK(tuner::plausible_duration(40s, 1, 120s) == 40s);
  CHECK(tuner::plausible_duration(3h, 1, 120s) == 150s);
  CHECK(tuner::plausible_duration(3h, 2, 120s) == 300s);
  CHECK(tuner::plausible_duration(-3h, 1, 120s) == 0s);
}

}  // namespace
}  // namespace nocturne::test
