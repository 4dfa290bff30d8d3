#include "tuner/preview/environments.hpp"

#include <fmt/format.h>

#include "tuner/campaign_file/framework_values.hpp"

namespace nocturne::tuner {

EnvironmentsAhead environments_ahead(const CampaignSpec& spec, const Frameworks& frameworks) {
  EnvironmentsAhead ahead;
  for (const std::string& name : wanted_frameworks(spec)) {
    const measure::EnvironmentRecipe* recipe = frameworks.recipe(name);
    if (recipe == nullptr || !recipe->is_installed()) continue;
    if (const auto environment = frameworks.installed(name)) {
      ahead.installed.push_back(name);
      ahead.disk_bytes += static_cast<std::int64_t>(environment->bytes);
      continue;
    }
    ahead.to_install.push_back(name);
    ahead.download_bytes += recipe->download_bytes;
    ahead.new_disk_bytes += recipe->disk_bytes;
    ahead.seconds += usual_install_seconds(*recipe);
  }
  ahead.disk_bytes += ahead.new_disk_bytes;
  const EnvironmentSettings& limits = spec.environments;
  if (ahead.to_install.empty()) return ahead;
  if (!limits.install) {
    ahead.limit = "environments.install is false: their software stacks will be unsupported";
  } else if (limits.download_bytes && ahead.download_bytes > *limits.download_bytes) {
    ahead.limit =
        fmt::format("environments.download is {} MB: software stacks that would exceed it will be unsupported",
                    *limits.download_bytes / 1'000'000);
  } else if (limits.disk_bytes && ahead.disk_bytes > *limits.disk_bytes) {
    ahead.limit = fmt::format("environments.disk is {} MB: software stacks that would exceed it will be unsupported",
                              *limits.disk_bytes / 1'000'000);
  }
  return ahead;
}

}  // namespace nocturne::tuner
