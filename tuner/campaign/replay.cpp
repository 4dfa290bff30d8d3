#include "tuner/campaign/replay.hpp"

#include <algorithm>
#include <map>

namespace nocturne::tuner {

Replayed replay(std::span<const db::Exchange> exchanges, search::Strategy& strategy, const std::string& name,
                std::int64_t seed) {
  Replayed replayed;
  std::map<std::int64_t, db::Asked> pending;
  std::map<std::int64_t, space::Trial> told;
  for (const db::Exchange& exchange : exchanges) {
    if (const auto* ask = std::get_if<db::Ask>(&exchange)) {
      if (ask->strategy == name && ask->seed == seed) {
        std::vector<space::Configuration> in_flight;
        for (const auto& [number, asked] : pending) in_flight.push_back(asked.configuration);
        strategy.mark_pending(in_flight);
        const auto answer = strategy.ask(static_cast<std::size_t>(ask->count));
        const bool same =
            std::ranges::equal(answer, ask->answer, {}, &search::Proposal::configuration, &db::Asked::configuration);
        if (!same) ++replayed.deviations;
      }
      for (const db::Asked& asked : ask->answer) pending[asked.number] = asked;
    } else {
      const space::Trial& trial = std::get<db::Tell>(exchange).trial;
      strategy.tell({&trial, 1});
      pending.erase(trial.number);
      told[trial.number] = trial;
    }
  }
  for (auto& [number, asked] : pending) replayed.pending.push_back(std::move(asked));
  for (auto& [number, trial] : told) replayed.told.push_back(std::move(trial));
  return replayed;
}

}  // namespace nocturne::tuner
