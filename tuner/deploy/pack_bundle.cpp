#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"
#include "measure/environment/archive.hpp"
#include "measure/environment/environment_installer.hpp"
#include "measure/environment/package_hashes.hpp"
#include "measure/environment/requirement.hpp"
#include "space/write_file.hpp"
#include "tuner/deploy/bundle.hpp"
#include "tuner/deploy/bundle_parts.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds kPatienceForLdd{30};
constexpr std::size_t kIdDigits = 12;  // of the id, in a file's name

/// One pack_bundle().
class Packing {
 public:
  Packing(const BundlePlaces& places, const std::stop_token& stop)
      : places_(places), stop_(stop), folder_(places.temporary) {}

  std::expected<void, MakingFailure> add_environment(const std::string& name);
  std::expected<void, MakingFailure> add_build(const Profile& profile);
  std::expected<void, MakingFailure> add_profile(const Profile& profile);
  std::expected<Bundle, MakingFailure> finish(const fs::path& output, const std::string& name);

 private:
  [[nodiscard]] std::expected<void, MakingFailure> write(const std::string& part, const json& document) const {
    if (auto done = space::write_file(folder_.content() / part, document.dump(2) + "\n"); !done)
      return cannot_make(done.error());
    return {};
  }

  const BundlePlaces& places_;
  const std::stop_token& stop_;
  BundleFolder folder_;
  Bundle bundle_;
  json environments_ = json::array();
  json build_;
};

std::expected<void, MakingFailure> Packing::add_environment(const std::string& name) {
  if (std::ranges::find(bundle_.environments, name) != bundle_.environments.end()) return {};
  const measure::EnvironmentRecipe* recipe = places_.frameworks.recipe(name);
  if (recipe == nullptr) return cannot_make(fmt::format("no recipe is called '{}'", name));
  if (!recipe->is_installed())
    return cannot_make(fmt::format("{} is not installed but kept elsewhere: it cannot be packed", name));
  const auto environment = places_.frameworks.installed(name);
  if (!environment)
    return cannot_make(
        fmt::format("{} is not installed: '{}' does that", name, tuner::command_text({"env", "install", name})));
  if (std::string reason = measure::bound_to_machine(*environment, *recipe); !reason.empty())
    return cannot_make(std::move(reason));
  measure::InstallOptions options = places_.frameworks.install_options();
  options.progress = places_.progress;
  if (auto failed = measure::collect_packages(*environment, *recipe, options, folder_.content() / "packages" / name,
                                              folder_.work() / name, stop_)) {
    return std::unexpected(MakingFailure{std::move(failed->reason), std::move(failed->log_tail), failed->interrupted});
  }
  std::vector<std::string> lock = environment->lock;
  if (recipe->source == "pip" && !measure::add_hashes_of(folder_.content() / "packages" / name, lock))
    return cannot_make(fmt::format("the packages of {} cannot be read again", name));
  bundle_.environments.push_back(name);
  environments_.push_back({{"recipe", name},
                           {"key", environment->key},
                           {"abi", environment->interpreter.abi},
                           {"python", measure::to_text(environment->interpreter.version)},
                           {"packages", lock}});
  return write("recipes/" + name + ".json", recipe->document);
}

std::expected<void, MakingFailure> Packing::add_build(const Profile& profile) {
  const fs::path build = places_.builds_folder / profile.training.artifact;
  if (profile.training.artifact.empty() || profile.training.program.parent_path() != build) return {};
  const fs::path inside = folder_.content() / "build";
  fs::copy(build, inside, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto said = measure::ask_tool({"ldd", profile.training.program.string()}, kPatienceForLdd);
  if (!said)
    return cannot_make(
        fmt::format("ldd does not say what {} needs: {}", profile.training.program.string(), said.error()));
  fs::create_directories(inside / "libraries");
  for (const fs::path& library : own_libraries(*said))
    fs::copy_file(library, inside / "libraries" / library.filename(), fs::copy_options::skip_existing);
  bundle_.build = profile.training.artifact;
  build_ = {{"key", bundle_.build}, {"name", profile.training.program.filename().string()}};
  return {};
}

std::expected<void, MakingFailure> Packing::add_profile(const Profile& profile) {
  Moves moves;
  if (const auto environment = places_.frameworks.installed(profile.training.recipe)) {
    moves.emplace_back(environment->folder.string(), kEnvironmentPlace);
    if (!measure::same_versions(environment->lock, profile.training.packages)) {
      bundle_.warnings.push_back(
          fmt::format("{} was updated since the profile was measured: the bundle holds what is "
                      "installed now",
                      profile.training.recipe));
    }
  }
  moves.emplace_back(places_.frameworks.worker_folder().string(), kWorkersPlace);
  if (!bundle_.build.empty()) moves.emplace_back((places_.builds_folder / bundle_.build).string(), kBuildPlace);
  moves.emplace_back(profile.training.data_folder.string(), kDataPlace);
  json document = moved(to_json(profile), moves);
  document["repeat"] = "";  // names folders of this machine
  return write("profile.json", document);
}

std::expected<Bundle, MakingFailure> Packing::finish(const fs::path& output, const std::string& name) {
  json document = {{"nocturne_bundle", kBundleVersion}, {"environments", environments_}};
  if (build_.is_object()) document["build"] = build_;
  if (auto written = write("bundle.json", document); !written) return std::unexpected(std::move(written.error()));
  if (places_.progress) places_.progress("packing");
  std::error_code error;
  const bool into_folder = fs::is_directory(output, error);
  const fs::path file = into_folder ? output / fmt::format(".{}{}", name, kBundleExtension) : output;
  auto id = measure::pack_folder(folder_.content(), file, stop_);
  if (!id)
    return std::unexpected(MakingFailure{.reason = std::move(id.error()), .interrupted = stop_.stop_requested()});
  bundle_.id = *id;
  bundle_.file = file;
  if (into_folder) {
    bundle_.file = output / fmt::format("{}-{}{}", name, id->substr(0, kIdDigits), kBundleExtension);
    fs::rename(file, bundle_.file);
  }
  return bundle_;
}

}  // namespace

std::expected<Bundle, MakingFailure> pack_bundle(const std::vector<std::string>& recipes,
                                                 const std::optional<Profile>& profile, const fs::path& output,
                                                 const BundlePlaces& places, const std::stop_token& stop) {
  if (profile && has_own_command(*profile))
    return cannot_make("the profile is of a command of your own: what it needs is not known here");
  try {
    Packing packing(places, stop);
    std::vector<std::string> names = recipes;
    const bool of_recipe = profile && places.frameworks.recipe(profile->training.recipe) != nullptr;
    if (of_recipe) names.push_back(profile->training.recipe);
    for (const std::string& name : names)
      if (auto added = packing.add_environment(name); !added) return std::unexpected(std::move(added.error()));
    if (profile) {
      if (auto added = packing.add_build(*profile); !added) return std::unexpected(std::move(added.error()));
      if (auto added = packing.add_profile(*profile); !added) return std::unexpected(std::move(added.error()));
    }
    return packing.finish(output, profile ? file_stem(profile->campaign) : names.front());
  } catch (const fs::filesystem_error& error) {  // a full disk
    return cannot_make(error.what());
  }
}

}  // namespace nocturne::deploy
