#include "tuner/campaign/downloads.hpp"

namespace nocturne::tuner {

std::int64_t downloaded_bytes(const db::Store& store, const std::string& campaign) {
  const auto known = store.find_campaign(campaign);
  if (!known) return 0;
  const auto builds = store.list_builds();
  std::int64_t bytes = 0;
  for (const db::BuildRecord& build : builds) {
    if (!db::environment_of(build) || build.created_unix_ns < known->created_unix_ns) continue;
    bytes += build.flags.value("download_bytes", std::int64_t{0});
  }
  return bytes;
}

}  // namespace nocturne::tuner
