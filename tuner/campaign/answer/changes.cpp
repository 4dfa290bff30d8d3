#include "tuner/campaign/answer/changes.hpp"

namespace nocturne::tuner {
namespace {

std::optional<space::Value> copy(const space::Value* value) {
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

}  // namespace

std::vector<Change> changes_between(const space::Configuration& from, const space::Configuration& to) {
  std::vector<Change> changes;
  for (const auto& [name, value] : from.values()) {
    const space::Value* other = to.find(name);
    if (other == nullptr || *other != value) changes.push_back({name, value, copy(other)});
  }
  for (const auto& [name, value] : to.values()) {
    if (from.find(name) == nullptr) changes.push_back({name, std::nullopt, value});
  }
  return changes;
}

}  // namespace nocturne::tuner
