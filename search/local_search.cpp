#include "search/local_search.hpp"

#include <algorithm>
#include <utility>

namespace nocturne::search {

void LocalSearch::stand_on(const Point& point) {
  current_ = point;
  ring_ = Ring::Near;
  queue_.clear();
}

void LocalSearch::tell(std::span<const space::Trial> finished) {
  for (const space::Trial& trial : finished) {
    known_.insert(trial.configuration);
    const std::string identity = trial.configuration.identity();
    const bool landed = landing_ == identity;
    if (landed) landing_.reset();
    if (!trial.estimate) {
      points_.erase(identity);
      continue;
    }
    const Point point{trial.configuration, trial.estimate->value};
    points_[identity] = point;
    if (landed || !current_ || point.value < current_->value) {
      stand_on(point);
    } else if (current_->configuration == point.configuration) {
      current_->value = point.value;  // judged again
    }
  }
  const auto least = std::ranges::min_element(points_, {}, [](const auto& entry) {
    return std::pair(entry.second.value, std::string_view(entry.first));  // ties by identity: no order of hashing
  });
  best_ = least != points_.end() ? std::optional(least->second) : std::nullopt;
}

bool LocalSearch::look_around(space::Random& random) {
  while (queue_.empty() && ring_ != Ring::Done) {
    const auto reach = ring_ == Ring::Near ? space::Reach::Adjacent : space::Reach::All;
    ring_ = ring_ == Ring::Near ? Ring::All : Ring::Done;
    std::vector<space::Configuration> neighbours = space_.neighbours(current_->configuration, reach);
    std::erase_if(neighbours, [this](const space::Configuration& neighbour) { return known_.contains(neighbour); });
    random.shuffle(std::span(neighbours));
    queue_.assign(std::make_move_iterator(neighbours.begin()), std::make_move_iterator(neighbours.end()));
  }
  return !queue_.empty();
}

std::optional<space::Configuration> LocalSearch::jump(space::Random& random) {
  const bool from_best = best_ && jumps_++ % 2 == 0;
  if (from_best) {
    space::Configuration landed = best_->configuration;
    for (int step = 0; step < kJumpSteps; ++step) {
      const auto neighbours = space_.neighbours(landed, space::Reach::All);
      if (neighbours.empty()) break;
      landed = neighbours[static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(neighbours.size())))];
    }
    if (!known_.contains(landed)) return landed;
  }
  return known_.sample_other(space_, random);
}

std::optional<space::Configuration> LocalSearch::next(space::Random& random) {
  if (!current_ && !known_.contains(space_.default_configuration())) return space_.default_configuration();
  if (current_ && look_around(random)) {
    space::Configuration neighbour = std::move(queue_.front());
    queue_.pop_front();
    if (!known_.contains(neighbour)) return neighbour;
    return next(random);
  }
  auto landed = jump(random);
  if (landed) landing_ = landed->identity();
  return landed;
}

std::vector<space::Configuration> LocalSearch::ask(std::size_t count) {
  space::Random random(seed_, asks_++);
  std::vector<space::Configuration> proposed;
  while (proposed.size() < count) {
    auto configuration = next(random);
    if (!configuration) break;
    known_.insert(*configuration);
    proposed.push_back(std::move(*configuration));
  }
  return proposed;
}

}  // namespace nocturne::search
