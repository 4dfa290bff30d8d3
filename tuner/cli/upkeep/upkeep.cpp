#include "tuner/cli/upkeep/upkeep.hpp"

#include <algorithm>

namespace nocturne::cli {

std::vector<Leftover> choose_leftovers(std::span<const Leftover> all, const UpkeepRule& rule,
                                       std::int64_t now_unix_ns) {
  std::vector<Leftover> candidates;
  std::int64_t total = 0;
  for (const Leftover& each : all) {
    total += each.bytes;
    if (each.kept_because.empty()) {
      candidates.push_back(each);
    }
  }
  std::ranges::stable_sort(candidates, {}, &Leftover::used_unix_ns);
  std::vector<Leftover> chosen;
  for (Leftover& each : candidates) {
    const bool old = rule.older_than && now_unix_ns - each.used_unix_ns > rule.older_than->count();
    const bool too_much = rule.max_bytes && total > *rule.max_bytes;
    if (each.forgotten || old || too_much) {
      total -= each.bytes;
      chosen.push_back(std::move(each));
    }
  }
  return chosen;
}

}  // namespace nocturne::cli
