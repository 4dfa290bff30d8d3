#pragma once

/// Is it the machine on which a campaign was measured last?

#include <string>

#include "db/store.hpp"
#include "space/fingerprint.hpp"

namespace nocturne::tuner {

/// The fields that must match and do not, in words; empty: the same machine, or no earlier sitting.
[[nodiscard]] db::Expected<std::string> machine_changes(const db::Store& store, const std::string& campaign,
                                                        const space::Fingerprint& now);

}  // namespace nocturne::tuner
