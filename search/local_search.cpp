#include "search/local_search.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace nocturne::search {

std::vector<Proposal> LocalSearch::ask(std::size_t count) {
  space::Random random(options_.seed, asks_++);
  return asked_.collect(count, [&] { return propose(random); });
}

void LocalSearch::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) {
    const auto identity = trial.configuration.identity();
    asked_.insert(trial.configuration);
    awaited_.erase(identity);
    // The first that is told begins the first descent; so does a stranger while there is none.
    if (descent_.empty()) {
      descent_.insert(identity);
      ++descents_;
    }
    auto& known = told_[identity];
    known.configuration = trial.configuration;
    known.value = trial.estimate ? std::optional(trial.estimate->value) : std::nullopt;
    // A better configuration from elsewhere (a filler, a verification) is a better place to walk from.
    const auto* centre = centre_ ? told(*centre_) : nullptr;
    if (known.value && centre != nullptr && centre->value && *known.value < *centre->value) descent_.insert(identity);
  }
}

const LocalSearch::Observation* LocalSearch::told(const Identity& identity) const {
  const auto found = told_.find(identity);
  return found == told_.end() ? nullptr : &found->second;
}

/// Best of the descent; ties go to the present centre, then to the smaller identity, so that order does not matter.
void LocalSearch::choose_centre() {
  std::optional<Identity> best;
  double least = 0;
  for (const auto& identity : descent_) {
    const auto* known = told(identity);
    if (known == nullptr || !known->value) continue;
    if (!best || *known->value < least || (*known->value == least && identity == centre_)) {
      best = identity;
      least = *known->value;
    }
  }
  centre_ = best;
}

/// Adjacent neighbours come first, the farther ones after them; each kind in random order.
void LocalSearch::list_neighbours(space::Random& random) {
  const auto& configuration = told_.at(*centre_).configuration;
  auto near = space_.neighbours(configuration, space::Reach::Adjacent);
  auto all = space_.neighbours(configuration, space::Reach::All);
  std::erase_if(all, [&](const auto& each) { return std::ranges::find(near, each) != near.end(); });
  random.shuffle(std::span(near));
  random.shuffle(std::span(all));
  neighbours_ = std::move(all);
  neighbours_.insert(neighbours_.end(), near.begin(), near.end());
  std::erase_if(neighbours_, [&](const auto& each) { return asked_.contains(each); });
  listed_ = centre_;
}

std::optional<space::Configuration> LocalSearch::begin_descent(space::Random& random) {
  auto start = asked_.sample_other(space_, random);
  descent_.clear();
  awaited_.clear();
  neighbours_.clear();
  centre_.reset();
  listed_.reset();
  if (!start) return std::nullopt;
  ++descents_;
  descent_.insert(start->identity());
  awaited_.insert(start->identity());
  return start;
}

std::optional<space::Configuration> LocalSearch::propose(space::Random& random) {
  const bool may_move =
      options_.improvement == Improvement::First || !centre_ || (neighbours_.empty() && awaited_.empty());
  if (may_move) choose_centre();
  if (centre_ && centre_ != listed_) list_neighbours(random);
  while (!neighbours_.empty()) {
    auto next = std::move(neighbours_.back());
    neighbours_.pop_back();
    if (asked_.contains(next)) continue;
    descent_.insert(next.identity());
    awaited_.insert(next.identity());
    return next;
  }
  if (awaited_.empty()) return begin_descent(random);
  return asked_.sample_other(space_, random);
}

}  // namespace nocturne::search
