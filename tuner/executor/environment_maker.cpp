#include "tuner/executor/environment_maker.hpp"
#include "tuner/installation/invocation.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{} MB", (bytes + 500'000) / 1'000'000);
}

}  // namespace

std::string EnvironmentMaker::beyond_limits(const measure::EnvironmentRecipe& recipe) const {
  const EnvironmentSettings& limits = options_.limits;
  if (!limits.install) {
    return fmt::format("{} is not installed, and the campaign says environments.install: false; '{}' installs it",
                       recipe.name, command_text({"env", "install", recipe.name}));
  }
  if (limits.download_bytes && options_.downloaded_bytes + recipe.download_bytes > *limits.download_bytes) {
    return fmt::format("{} downloads about {}, {} were downloaded, and the campaign's environments.download is {}",
                       recipe.name, megabytes(recipe.download_bytes), megabytes(options_.downloaded_bytes),
                       megabytes(*limits.download_bytes));
  }
  if (limits.disk_bytes) {
    std::int64_t used = 0;
    for (const std::string& name : options_.wanted)
      if (const auto environment = frameworks_.installed(name)) used += static_cast<std::int64_t>(environment->bytes);
    if (used + recipe.disk_bytes > *limits.disk_bytes) {
      return fmt::format(
          "{} takes about {} of disk, the campaign's other environments take {}, and its environments.disk is {}",
          recipe.name, megabytes(recipe.disk_bytes), megabytes(used), megabytes(*limits.disk_bytes));
    }
  }
  return {};
}

std::expected<measure::Environment, PreparationFailure> EnvironmentMaker::obtain(
    const measure::EnvironmentRecipe& recipe, const std::stop_token& stop) {
  std::error_code ignored;
  if (const auto known = made_.find(recipe.name);
      known != made_.end() && std::filesystem::exists(known->second.python, ignored)) {
    return known->second;
  }
  if (const auto* known = failed_.find(recipe.name)) return std::unexpected(*known);
  auto made = install(recipe, stop);
  if (made) {
    measure::note_use(*made);
    measure::Environment& kept = made_[recipe.name] = *made;
    kept.installed_now = false;
    failed_.forget(recipe.name);
  } else {
    failed_.remember(recipe.name, made.error());
  }
  return made;
}

std::expected<measure::Environment, PreparationFailure> EnvironmentMaker::install(
    const measure::EnvironmentRecipe& recipe, const std::stop_token& stop) {
  const auto failure = [](space::Outcome outcome, std::string reason) {
    return std::unexpected(PreparationFailure{outcome, std::move(reason), {}});
  };
  if (auto environment = frameworks_.installed(recipe.name)) {
    environment->installed_now = false;
    return *std::move(environment);
  }
  std::string refused;
  measure::EnvironmentStore* store = frameworks_.store(refused);
  if (store == nullptr) return failure(space::Outcome::BuildFailed, refused);
  if (const std::string obstacle = frameworks_.obstacle(recipe.name); !obstacle.empty())
    refused = fmt::format("{}: {}", recipe.name, obstacle);
  if (refused.empty()) refused = beyond_limits(recipe);
  if (!refused.empty()) return failure(space::Outcome::Unsupported, refused);
  measure::InstallOptions install = frameworks_.install_options();
  install.progress = options_.progress;
  auto made = store->obtain(recipe, frameworks_.pythons(), install, stop);
  if (!made) {
    const measure::EnvironmentFailure& error = made.error();
    const auto outcome = error.interrupted   ? space::Outcome::Killed
                         : error.unavailable ? space::Outcome::Unsupported
                                             : space::Outcome::BuildFailed;
    const std::string reason = error.interrupted
                                   ? fmt::format("the installation of {} was cut ('{}' completes it)", recipe.name,
                                                 command_text({"env", "install", recipe.name}))
                                   : error.reason;
    return std::unexpected(PreparationFailure{outcome, reason, error.log_tail, error.no_room, error.unreachable});
  }
  if (made->installed_now) options_.downloaded_bytes += recipe.download_bytes;
  return *std::move(made);
}

}  // namespace nocturne::tuner
