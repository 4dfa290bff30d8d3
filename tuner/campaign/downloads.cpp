#include "tuner/campaign/downloads.hpp"

namespace nocturne::tuner {

db::Expected<std::int64_t> downloaded_bytes(const db::Store& store, const std::string& campaign) {
  const auto known = store.find_campaign(campaign);
  if (!known) {
    if (known.error().code == db::ErrorCode::NotFound) return 0;
    return std::unexpected(known.error());
  }
  const auto builds = store.list_builds();
  if (!builds) return std::unexpected(builds.error());
  std::int64_t bytes = 0;
  for (const db::BuildRecord& build : *builds) {
    if (!db::environment_of(build) || build.created_unix_ns < known->created_unix_ns) continue;
    bytes += build.flags.value("download_bytes", std::int64_t{0});
  }
  return bytes;
}

}  // namespace nocturne::tuner
