#include "tuner/campaign/machine_changes.hpp"

#include <fmt/format.h>

namespace nocturne::tuner {

db::Expected<std::string> machine_changes(const db::Store& store, const std::string& campaign,
                                          const space::Fingerprint& now) {
  const auto known = store.find_campaign(campaign);
  if (!known) {
    if (known.error().code == db::ErrorCode::NotFound) return std::string();
    return std::unexpected(known.error());
  }
  const auto stored = store.load_fingerprint(known->fingerprint);
  if (!stored) return std::unexpected(stored.error());
  const auto before = space::Fingerprint::from_json(stored->fields);
  if (!before || before->key() == now.key()) return std::string();
  std::string fields;
  for (const space::FingerprintDifference& difference : before->differences(now)) {
    if (difference.match != space::Match::Must) continue;
    fields += fmt::format("{}{} was '{}' and is '{}'", fields.empty() ? "" : ", ", difference.name, difference.before,
                          difference.now);
  }
  return fields;
}

}  // namespace nocturne::tuner
