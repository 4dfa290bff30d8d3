#pragma once

/// What a campaign has downloaded for its environments, of what its settings allow.

#include <cstdint>
#include <string>

#include "db/store.hpp"

namespace nocturne::tuner {

/// By the sessions before of the campaign of this name as it is now, in bytes, by what the recipes say. 0: there is no
/// such campaign yet.
[[nodiscard]] std::int64_t downloaded_bytes(const db::Store& store, const std::string& campaign);

}  // namespace nocturne::tuner
