#include "tuner/campaign/judged_again.hpp"

#include <utility>

namespace nocturne::tuner {

JudgedAgain judged_again(const Session& session, std::vector<space::Trial> changed) {
  JudgedAgain judged{.changed = std::move(changed)};
  if (judged.changed.empty()) return judged;
  for (db::StoredTrial& stored :
       session.store.list_trials({.campaign = session.campaign, .state = db::TrialState::Finished}))
    judged.all.push_back(std::move(stored.trial));
  return judged;
}

}  // namespace nocturne::tuner
