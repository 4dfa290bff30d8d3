#include "tuner/executor/machine_difference.hpp"

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

template <typename Clause>
std::string clauses(std::span<const space::FingerprintDifference> differences, std::optional<space::Match> match,
                    Clause clause) {
  std::string words;
  for (const space::FingerprintDifference& each : differences)
    if (!match || each.match == *match) words += (words.empty() ? "" : ", ") + clause(each);
  return words;
}

}  // namespace

std::string change_words(std::span<const space::FingerprintDifference> changes, std::optional<space::Match> match) {
  return clauses(changes, match, [](const space::FingerprintDifference& each) {
    return fmt::format("{} was '{}' and is '{}'", each.name, each.before, each.now);
  });
}

std::string difference_words(const space::Fingerprint& one, const space::Fingerprint& other, space::Match match) {
  return clauses(one.differences(other), match, [](const space::FingerprintDifference& each) {
    return fmt::format("{} is '{}', not '{}'", each.name, each.now, each.before);
  });
}

}  // namespace nocturne::tuner
