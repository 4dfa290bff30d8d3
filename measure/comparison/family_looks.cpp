#include "measure/comparison/family_looks.hpp"

#include <cassert>

namespace nocturne::measure {

std::span<const Look> FamilyLooks::plan(std::size_t open) {
  assert(open >= 1);
  auto& looks = plans_[open];
  if (looks.empty()) looks = plan_looks(first_, most_, error_ / static_cast<double>(open));
  return looks;
}

}  // namespace nocturne::measure
