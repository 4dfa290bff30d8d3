#include "tuner/campaign/replayed_exchanges.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace nocturne::tuner {

ReplayedExchanges replay_exchanges(std::span<const db::Exchange> exchanges, search::Strategy& strategy,
                                   const std::string& name, std::int64_t seed) {
  ReplayedExchanges replayed;
  std::map<std::int64_t, db::AskAnswer> pending;
  std::map<std::int64_t, space::Trial> told;
  for (const db::Exchange& exchange : exchanges) {
    if (const auto* ask = std::get_if<db::Ask>(&exchange)) {
      if (ask->strategy == name && ask->seed == seed) {
        std::vector<space::Configuration> in_flight;
        for (const auto& [number, asked] : pending) in_flight.push_back(asked.configuration);
        // As it was then: with several slots the strategy knew what was under way when it was asked.
        strategy.mark_pending(in_flight);
        const auto answer = strategy.ask(static_cast<std::size_t>(ask->count));
        const bool same = std::ranges::equal(answer, ask->answer, {}, &search::Proposal::configuration,
                                             &db::AskAnswer::configuration);
        if (!same) ++replayed.deviations;
      }
      for (const db::AskAnswer& asked : ask->answer) pending[asked.number] = asked;
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

db::AskAnswer numbered(search::Proposal proposal, std::int64_t number) {
  db::AskAnswer asked{.number = number,
                      .configuration = std::move(proposal.configuration),
                      .purpose = proposal.purpose,
                      .reason = std::move(proposal.reason)};
  if (proposal.prediction) {
    asked.predicted_log_bound = proposal.prediction->log_bound;
    asked.predicted_log_margin = proposal.prediction->margin;
  }
  return asked;
}

}  // namespace nocturne::tuner
