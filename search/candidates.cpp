#include "search/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nocturne::search {
namespace {

constexpr std::size_t kCompared = 100;  // candidates that stand for all where the centre is sought

}  // namespace

bool PointSet::insert(std::uint64_t hash) {
  if (hash == 0) hash = 1;
  if ((size_ + 1) * 2 > slots_.size()) {
    auto old = std::move(slots_);
    slots_.assign(old.size() * 2, 0);
    size_ = 0;
    for (const auto each : old)
      if (each != 0) insert(each);
  }
  auto slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
    if (slots_[slot] == hash) return false;
  slots_[slot] = hash;
  ++size_;
  return true;
}

bool PointSet::contains(std::uint64_t hash) const {
  if (hash == 0) hash = 1;
  for (auto slot = hash & (slots_.size() - 1); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
    if (slots_[slot] == hash) return true;
  return false;
}

void Pool::renew(space::Lattice& lattice, space::Random& random) {
  const bool filling = points_.empty();
  for (std::size_t i = 0; i < (filling ? kSize : kRenewed); ++i) {
    if (!lattice.sample(random, drawn_)) return;
    if (filling) {
      points_.push_back(drawn_);
    } else {
      points_.set(next_, drawn_);
      next_ = (next_ + 1) % points_.size();
    }
  }
}

Candidates::Candidates(space::Lattice& lattice, const PointSet& taken)
    : lattice_(lattice), taken_(taken), points_(lattice.width()), found_(lattice.width()) {}

void Candidates::add(const space::PointList& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto hash = space::hash_of(points[i]);
    if (!taken_.contains(hash) && listed_.insert(hash)) points_.push_back(points[i]);
  }
}

void Candidates::add_neighbours(space::Point point) {
  const std::vector<space::Level> centre(point.begin(), point.end());  // it may lie in the list that grows
  found_.clear();
  lattice_.neighbours(centre, found_);
  add(found_);
}

void Candidates::add_crossovers(const space::PointList& parents, std::size_t count, space::Random& random) {
  if (parents.size() < 2) return;
  found_.clear();
  std::vector<space::Level> child(parents.width());
  for (std::size_t n = 0; n < count; ++n) {
    const auto first = parents[random.below(parents.size())];
    const auto second = parents[random.below(parents.size())];
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < child.size(); ++i) {
      if (i % 64 == 0) bits = random.bits();
      child[i] = (bits >> (i % 64) & 1U) != 0 ? first[i] : second[i];
    }
    if (lattice_.settle(child)) found_.push_back(child);
  }
  add(found_);
}

double distance(const model::LevelKernels& kernels, space::Point a, space::Point b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto first = kernels.first_row(i);
    sum -=
        std::log(static_cast<double>(kernels.closeness(i, kernels.row(i, a[i]) - first, kernels.row(i, b[i]) - first)));
  }
  return sum;
}

std::size_t next_spread(const model::LevelKernels& kernels, const space::PointList& chosen,
                        const space::PointList& candidates) {
  std::size_t best = 0;
  double best_value = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    double value = chosen.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < chosen.size(); ++i)
      value = std::min(value, distance(kernels, candidates[c], chosen[i]));
    for (std::size_t i = 0; chosen.empty() && i < std::min(kCompared, candidates.size()); ++i) {
      const double apart = distance(kernels, candidates[c], candidates[i]);
      value -= apart * apart;
    }
    if (value > best_value) {
      best_value = value;
      best = c;
    }
  }
  return best;
}

}  // namespace nocturne::search
