#include "tuner/doctor/finding.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nocturne::tuner {

std::string_view to_text(Health health) {
  switch (health) {
    case Health::Good:
      return "good";
    case Health::Note:
      return "note";
    case Health::Optional:
      return "optional";
    case Health::Bad:
      return "bad";
  }
  return "bad";
}

bool can_measure(const std::vector<Diagnosis>& findings) {
  return std::ranges::none_of(findings, [](const Diagnosis& finding) { return finding.health == Health::Bad; });
}

std::string install_line(const std::vector<Diagnosis>& findings) {
  std::vector<std::string> packages;
  for (const bool bad : {true, false}) {
    for (const Diagnosis& finding : findings) {
      if ((finding.health == Health::Bad) != bad) continue;
      for (const std::string& package : finding.packages)
        if (std::ranges::find(packages, package) == packages.end()) packages.push_back(package);
    }
  }
  return packages.empty() ? "" : fmt::format("apt-get install {}", fmt::join(packages, " "));
}

}  // namespace nocturne::tuner
