#include "tuner/campaign/file_changes.hpp"

#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nocturne::tuner {
namespace {

constexpr std::size_t kMostNamed = 5;

/// A section's members by name: parameters under their own, for a list has none.
nlohmann::json members_of(const nlohmann::json& document, const char* section) {
  nlohmann::json members = document.value(section, nlohmann::json::object());
  if (!members.is_object()) return {{section, members}};
  if (const auto parameters = members.find("parameters"); parameters != members.end() && parameters->is_array()) {
    const nlohmann::json listed = std::move(*parameters);
    members.erase(parameters);
    for (const nlohmann::json& each : listed)
      if (each.is_object() && each.contains("name")) members[each["name"].get<std::string>()] = each;
  }
  return members;
}

}  // namespace

std::string file_changes(const nlohmann::json& before, const nlohmann::json& now) {
  std::vector<std::string> changes;
  for (const char* section : {"workload", "objective", "space", "worker"}) {
    const nlohmann::json then = members_of(before, section), present = members_of(now, section);
    std::set<std::string> differing;
    for (const auto* side : {&then, &present})
      for (const auto& [key, value] : side->items())
        if (then.value(key, nlohmann::json()) != present.value(key, nlohmann::json())) differing.insert(key);
    if (differing.empty()) continue;
    std::vector<std::string> names(differing.begin(), differing.end());
    if (names.size() > kMostNamed) {
      names[kMostNamed] = fmt::format("{} more", names.size() - kMostNamed);
      names.resize(kMostNamed + 1);
    }
    changes.push_back(fmt::format("{} ({})", section, fmt::join(names, ", ")));
  }
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace nocturne::tuner
