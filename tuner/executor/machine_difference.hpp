#pragma once

/// Differences of fingerprints in words, a clause each. Pure.

#include <optional>
#include <span>
#include <string>

#include "space/fingerprint.hpp"

namespace nocturne::tuner {

/// Of one machine at two times: "system.kernel was '6.1' and is '6.2', …". All, or those that match in this way.
[[nodiscard]] std::string change_words(std::span<const space::FingerprintDifference> changes,
                                       std::optional<space::Match> match = {});

/// Of two machines: "cpu.model is 'B', not 'A', …". Those that match in this way; empty: there are none.
[[nodiscard]] std::string difference_words(const space::Fingerprint& one, const space::Fingerprint& other,
                                           space::Match match = space::Match::Must);

}  // namespace nocturne::tuner
