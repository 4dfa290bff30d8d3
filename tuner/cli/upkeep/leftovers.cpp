#include "tuner/cli/upkeep/leftovers.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "measure/artifact/artifact.hpp"
#include "measure/environment/environment_store.hpp"
#include "space/folder_entries.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/executor/stray_runs.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

struct Profiles {
  std::set<std::string> artifacts;
  std::string unreadable;  ///< a profile that cannot be read; it may need any build
};

Profiles read_profiles(const fs::path& folder) {
  Profiles profiles;
  std::error_code error;
  for (const fs::directory_entry& entry : space::entries_of(folder, error)) {
    if (entry.path().extension() != ".json") continue;
    if (const auto profile = deploy::load_profile(entry.path()))
      profiles.artifacts.insert(profile->training.artifact);
    else
      profiles.unreadable = entry.path().string();
  }
  // What cannot be seen may need any build, too.
  if (error && error != std::errc::no_such_file_or_directory) profiles.unreadable = folder.string();
  return profiles;
}

struct TunedTrials {
  std::set<db::TrialId> trials;  ///< trials of campaigns that a living process tunes
  std::string campaign;          ///< the name of one, or empty
};

TunedTrials tuned_now(const db::Store& store) {
  const auto campaigns = store.list_campaigns();
  TunedTrials tuned;
  for (const db::CampaignSummary& campaign : campaigns) {
    if (!campaign.owner_pid) continue;
    tuned.campaign = campaign.name;
    const auto trials = store.list_trials({.campaign = campaign.id});
    for (const db::StoredTrial& trial : trials) {
      tuned.trials.insert(trial.id);
      if (trial.reused_from) tuned.trials.insert(*trial.reused_from);
    }
  }
  return tuned;
}

std::string why_build_stays(const std::string& key, const Profiles& profiles, const TunedTrials& tuned) {
  if (profiles.artifacts.contains(key)) return "an exported profile runs it";
  if (!tuned.campaign.empty()) return fmt::format("campaign '{}' is being tuned", tuned.campaign);
  if (!profiles.unreadable.empty()) return fmt::format("{} cannot be read and may name it", profiles.unreadable);
  return "";
}

/// A process was started by a path in it: what Python it is does not show, for the program is a link.
bool is_run_in(const fs::path& folder) {
  for (const fs::directory_entry& entry : space::entries_of("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string program;
    std::ifstream words(entry.path() / "cmdline");
    if (std::getline(words, program, '\0') && program.starts_with(folder.string() + "/")) return true;
  }
  return false;
}

std::string why_environment_stays(const measure::Environment& environment, const Profiles& profiles,
                                  const TunedTrials& tuned) {
  if (profiles.artifacts.contains(environment.key)) return "an exported profile runs in it";
  if (!tuned.campaign.empty()) return fmt::format("campaign '{}' is being tuned", tuned.campaign);
  if (!profiles.unreadable.empty()) return fmt::format("{} cannot be read and may name it", profiles.unreadable);
  return is_run_in(environment.folder) ? "a process runs in it" : "";
}

}  // namespace

bool is_run_folder(const db::RunFolder& run, const fs::path& root) {
  const fs::path folder = fs::path(run.folder).lexically_normal();
  std::error_code error;
  return folder.is_absolute() && folder.parent_path() == root && folder.filename() == run.run &&
         fs::is_directory(fs::symlink_status(folder, error));
}

std::int64_t folder_bytes(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->symlink_status(ignored))) {
      const auto size = entry->file_size(ignored);
      bytes += ignored ? 0 : static_cast<std::int64_t>(size);
    }
  }
  return bytes;
}

std::vector<Leftover> find_leftovers(const db::Store& store, const Context& context, std::int64_t now_unix_ns,
                                     LeftoverScope scope) {
  const auto tuned = tuned_now(store);
  const auto runs = store.run_folders(now_unix_ns);
  std::vector<Leftover> leftovers;
  for (const db::RunFolder& run : runs) {
    if (!is_run_folder(run, context.runs_folder())) continue;
    const bool stays = tuned.trials.contains(run.trial);
    leftovers.push_back({.kind = Leftover::Kind::Run,
                         .name = run.run,
                         .folder = fs::path(run.folder).lexically_normal(),
                         .bytes = folder_bytes(run.folder),
                         .used_unix_ns = run.started_unix_ns,
                         .kept_because = stays ? "its campaign is being tuned" : ""});
  }
  const auto strays = tuner::stray_runs(store, context.runs_folder());
  std::error_code error;
  for (const fs::path& folder : strays) {
    struct stat info{};
    const bool seen = ::stat(folder.c_str(), &info) == 0;
    leftovers.push_back({.kind = Leftover::Kind::Run,
                         .name = folder.filename().string(),
                         .folder = folder,
                         .bytes = folder_bytes(folder),
                         .used_unix_ns = seen ? std::int64_t{info.st_mtime} * 1'000'000'000 : 0,
                         .forgotten = true});
  }
  const Profiles profiles = read_profiles(context.profiles_folder());
  if (scope.environments && fs::is_directory(context.environments_folder(), error)) {
    for (const measure::Environment& environment :
         measure::EnvironmentStore(context.environments_folder()).list_all()) {
      leftovers.push_back({.kind = Leftover::Kind::Environment,
                           .name = environment.recipe,
                           .folder = environment.folder,
                           .bytes = static_cast<std::int64_t>(environment.bytes),
                           .used_unix_ns = tuner::unix_ns_of(environment.last_used),
                           .kept_because = why_environment_stays(environment, profiles, tuned)});
    }
  }
  if (fs::is_directory(context.builds_folder(), error)) {
    for (const measure::StoredArtifact& build : measure::ArtifactStore(context.builds_folder()).list()) {
      leftovers.push_back({.kind = Leftover::Kind::Build,
                           .name = build.key,
                           .folder = build.folder,
                           .bytes = static_cast<std::int64_t>(build.bytes),
                           .used_unix_ns = tuner::unix_ns_of(build.last_used),
                           .kept_because = why_build_stays(build.key, profiles, tuned)});
    }
  }
  return leftovers;
}

std::expected<void, std::string> remove_leftover(const Leftover& leftover, db::Store& store, const Context& context) {
  if (leftover.kind == Leftover::Kind::Environment) {
    measure::Environment environment;
    environment.recipe = leftover.name;
    environment.folder = leftover.folder;
    if (measure::EnvironmentStore(context.environments_folder()).remove(environment)) return {};
    return std::unexpected(fmt::format("the environment {} is being installed, or gone", leftover.name));
  }
  if (leftover.kind == Leftover::Kind::Build) {
    if (!measure::ArtifactStore(context.builds_folder()).remove(leftover.name))
      return std::unexpected(fmt::format("the build {} is in use or gone", leftover.name.substr(0, 12)));
    store.forget_build(leftover.name);
    return {};
  }
  std::error_code error;
  fs::remove_all(leftover.folder, error);
  if (error) return std::unexpected(fmt::format("cannot remove {}: {}", leftover.folder.string(), error.message()));
  store.forget_run_folder(leftover.name);
  return {};
}

std::vector<Leftover> choose_leftovers(std::span<const Leftover> all, const UpkeepRule& rule,
                                       std::int64_t now_unix_ns) {
  std::vector<Leftover> candidates;
  std::int64_t total = 0;
  for (const Leftover& each : all) {
    total += each.bytes;
    if (each.kept_because.empty()) candidates.push_back(each);
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
