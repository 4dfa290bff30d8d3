#include "search/candidates.hpp"

#include <algorithm>

namespace nocturne::search {

bool PointSet::insert(std::uint64_t hash) {
  if (hash == 0) hash = 1;
  if ((size_ + 1) * 2 > slots_.size()) {
    auto old = std::move(slots_);
    slots_.assign(old.size() * 2, 0);
    size_ = 0;
    for (const auto each : old) {
      if (each != 0) insert(each);
    }
  }
  auto slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == hash) return false;
  }
  slots_[slot] = hash;
  ++size_;
  return true;
}

bool PointSet::contains(std::uint64_t hash) const {
  if (hash == 0) hash = 1;
  for (auto slot = hash & (slots_.size() - 1); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == hash) return true;
  }
  return false;
}

void PointSet::clear() {
  std::ranges::fill(slots_, 0);
  size_ = 0;
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

}  // namespace nocturne::search
