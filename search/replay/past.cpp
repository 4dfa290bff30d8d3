#include "search/replay/past.hpp"

#include <algorithm>
#include <numeric>

#include "space/random.hpp"

namespace nocturne::search::replay {
namespace {

// Draws of the past are not those of the run that is given it, though both follow from one seed.
constexpr std::uint64_t kPast = 0x70A57CA3BA1609B5U;

space::Trial trial_of(const RecordedSpace& recorded, std::size_t row) {
  space::Trial trial;
  trial.configuration = recorded.configuration(row);
  trial.outcome = recorded.rows().outcomes[row];
  if (trial.outcome == space::Outcome::Ok)
    trial.estimate = space::Estimate{.value = recorded.rows().objectives[row], .standard_error = 0, .runs = 1};
  return trial;
}

}  // namespace

History sampled_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed) {
  History history{.same_machine_and_workload = false, .trials = {}, .name = recorded.name()};
  std::vector<std::size_t> rows(recorded.rows().size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  space::Random random(seed ^ kPast);
  for (std::size_t i = 0; i < std::min(trials, rows.size()); ++i) {  // Fisher and Yates, as far as needed
    std::swap(rows[i], rows[i + random.below(rows.size() - i)]);
    history.trials.push_back(trial_of(recorded, rows[i]));
  }
  return history;
}

History earlier_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed) {
  History history{.same_machine_and_workload = true, .trials = {}, .name = recorded.name()};
  const auto strategy = make_strategy("auto", recorded.space(), {.seed = seed ^ kPast}).value();
  while (history.trials.size() < trials) {
    const auto proposals = strategy->ask(1);
    if (proposals.empty()) break;
    const auto place = recorded.find(proposals.front().configuration);
    if (!place) break;
    auto trial = trial_of(recorded, place->row);
    trial.configuration = proposals.front().configuration;
    trial.number = static_cast<std::int64_t>(history.trials.size());
    strategy->tell({&trial, 1});
    history.trials.push_back(std::move(trial));
  }
  return history;
}

}  // namespace nocturne::search::replay
