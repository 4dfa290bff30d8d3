#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "measure/environment/archive.hpp"
#include "measure/environment/environment_manifest.hpp"
#include "measure/environment/requirement.hpp"
#include "measure/environment/source_build.hpp"
#include "space/digest.hpp"
#include "space/write_file.hpp"
#include "tuner/deploy/bundle.hpp"
#include "tuner/deploy/bundle_parts.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const json value = object.is_object() ? object.value(key, json()) : json();
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// What follows " for " where a library was built for one kind of processor.
std::string processor_of(const std::string& abi) {
  const std::size_t at = abi.rfind(" for ");
  return at == std::string::npos ? std::string() : abi.substr(at);
}

/// One open_bundle().
class Opening {
 public:
  Opening(const fs::path& file, const BundlePlaces& places, const std::stop_token& stop)
      : file_(file), places_(places), stop_(stop), folder_(places.temporary) {}

  std::expected<Bundle, MakingFailure> run();

 private:
  std::expected<void, MakingFailure> install(const json& entry);
  std::expected<measure::EnvironmentRecipe, MakingFailure> recipe_of(const std::string& name) const;
  std::expected<measure::PythonPlaces, MakingFailure> python_of(const measure::EnvironmentRecipe& recipe,
                                                                const json& entry) const;
  std::expected<void, MakingFailure> take_build(const json& build);
  std::expected<void, MakingFailure> take_profile();
  [[nodiscard]] std::unexpected<MakingFailure> no_bundle(std::string_view what) const {
    return cannot_make(fmt::format("{} is no bundle that this nocturne reads: {}", file_.string(), what));
  }

  const fs::path& file_;
  const BundlePlaces& places_;
  const std::stop_token& stop_;
  BundleFolder folder_;
  Bundle bundle_;
  std::vector<std::pair<measure::EnvironmentRecipe, measure::Environment>> installed_;
};

/// This machine's own where it means the same; else the bundle's, which becomes one of the user's.
std::expected<measure::EnvironmentRecipe, MakingFailure> Opening::recipe_of(const std::string& name) const {
  auto packed = measure::parse_recipe(read_part(folder_.content() / "recipes" / (name + ".json")), name);
  if (!packed) return no_bundle(fmt::format("its recipe '{}': {}", name, packed.error()));
  if (!packed->is_installed()) return no_bundle(fmt::format("nothing is installed for its recipe '{}'", name));
  const measure::EnvironmentRecipe* here = places_.frameworks.recipe(name);
  if (here == nullptr) {
    const fs::path own = places_.recipes_folder / (name + ".json");
    if (places_.recipes_folder.empty())
      return cannot_make("there is no folder for recipes of your own: HOME is not set");
    if (auto written = space::write_file(own, packed->document.dump(2) + "\n"); !written)
      return cannot_make(written.error());
    return std::move(*packed);
  }
  if (measure::installed_part(*here) != measure::installed_part(*packed)) {
    return cannot_make(
        fmt::format("the bundle's recipe {} is another one than {}: rename yours, or pack the bundle again", name,
                    here->file.string()));
  }
  return *here;
}

/// Wheels are for one version of Python.
std::expected<measure::PythonPlaces, MakingFailure> Opening::python_of(const measure::EnvironmentRecipe& recipe,
                                                                       const json& entry) const {
  const std::string abi = text_of(entry, "abi");
  if (recipe.build) {
    if (processor_of(abi) != processor_of(measure::build_abi(recipe)))
      return cannot_make(recipe.name + " was built for another kind of processor than this one");
    return measure::PythonPlaces{};
  }
  for (const measure::PythonInterpreter& python : measure::find_pythons(places_.frameworks.pythons()))
    if (python.abi == abi)
      return measure::PythonPlaces{.named = {python.program}, .folders = {}, .version_folders = {}};
  return cannot_make(
      fmt::format("the packages of {} are for Python {} ({}), which this machine does not have: install "
                  "it, or name it in NOCTURNE_PYTHONS",
                  recipe.name, text_of(entry, "python"), abi));
}

std::expected<void, MakingFailure> Opening::install(const json& entry) {
  const std::string name = text_of(entry, "recipe");
  const auto recipe = recipe_of(name);
  if (!recipe) return std::unexpected(recipe.error());
  const auto python = python_of(*recipe, entry);
  if (!python) return std::unexpected(python.error());
  measure::InstallOptions options = places_.frameworks.install_options();
  options.progress = places_.progress;
  options.wheels = folder_.content() / "packages" / name;
  for (const json& line : entry.value("packages", json::array()))
    if (line.is_string()) options.lock.push_back(line.get<std::string>());
  std::error_code error;
  if (options.lock.empty() || !fs::is_directory(options.wheels, error))
    return no_bundle(fmt::format("it holds no packages of {}", name));
  auto made = obtain_environment(places_.frameworks, *recipe, *python, options, stop_);
  if (!made) return std::unexpected(std::move(made.error()));
  if (!made->installed_now && !measure::same_versions(made->lock, options.lock)) {
    bundle_.warnings.push_back(
        fmt::format("{0} is installed already, with other packages: '{1}' "
                    "makes room for the bundle's",
                    name, tuner::command_text({"env", "remove", name})));
  }
  bundle_.environments.push_back(name);
  installed_.emplace_back(*recipe, std::move(*made));
  return {};
}

std::expected<void, MakingFailure> Opening::take_build(const json& build) {
  const std::string key = text_of(build, "key"), name = text_of(build, "name");
  const bool sound = space::is_sha256(key) && !name.empty() && !name.starts_with('.') && !name.contains('/');
  const fs::path packed = folder_.content() / "build";
  if (!sound || text_of(read_part(packed / "manifest.json"), "name") != name)
    return no_bundle("its build has no good name");
  const fs::path folder = places_.builds_folder / key;
  std::error_code error;
  if (!fs::exists(folder / "manifest.json", error)) {
    fs::create_directories(places_.builds_folder);
    fs::remove_all(folder);
    const fs::path beside = places_.builds_folder / fmt::format(".bundle-{}", ::getpid());
    fs::remove_all(beside);
    fs::copy(packed, beside, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::rename(beside, folder);
  }
  bundle_.build = key;
  return {};
}

std::expected<void, MakingFailure> Opening::take_profile() {
  const json document = read_part(folder_.content() / "profile.json");
  if (document.is_null()) return {};
  if (!document.is_object()) return no_bundle("its profile is no JSON object");
  Moves moves = {{std::string(kWorkersPlace), places_.frameworks.worker_folder().string()}};
  const std::string recipe = text_of(document.value("training", json()), "recipe");
  const std::string data = text_of(document.value("workload", json()), "data");
  const auto used = std::ranges::find_if(installed_, [&](const auto& each) { return each.first.name == recipe; });
  if (used != installed_.end()) moves.emplace_back(kEnvironmentPlace, used->second.folder.string());
  if (!bundle_.build.empty()) moves.emplace_back(kBuildPlace, (places_.builds_folder / bundle_.build).string());
  moves.emplace_back(kDataPlace, places_.installation.data_set(data).string());
  auto profile = profile_from_json(moved(document, moves));
  if (!profile) return no_bundle("its profile: " + profile.error());
  if (used != installed_.end() && used->first.kind == measure::RecipeKind::Python)
    use_environment(*profile, used->second, used->first, places_.frameworks.worker_folder());
  std::error_code error;
  const fs::path libraries = places_.builds_folder / bundle_.build / "libraries";
  if (!bundle_.build.empty() && fs::is_directory(libraries, error)) {
    profile->launch.set["LD_LIBRARY_PATH"] = libraries.string();
    std::erase(profile->launch.unset, "LD_LIBRARY_PATH");
  }
  bundle_.profile = places_.profiles_folder / (file_stem(profile->campaign) + ".json");
  if (auto written = space::write_file(bundle_.profile, export_json(*profile)); !written)
    return cannot_make(written.error());
  return {};
}

std::expected<Bundle, MakingFailure> Opening::run() {
  if (places_.progress) places_.progress("unpacking " + file_.string());
  auto id = measure::unpack_archive(file_, folder_.content(), stop_);
  if (!id)
    return std::unexpected(MakingFailure{.reason = std::move(id.error()), .interrupted = stop_.stop_requested()});
  bundle_.id = *id;
  bundle_.file = file_;
  const json document = read_part(folder_.content() / "bundle.json");
  if (!document.is_object() || document.value("nocturne_bundle", json()) != json(kBundleVersion))
    return no_bundle("'nocturne_bundle' is not 1");
  const json environments = document.value("environments", json::array());
  for (const json& entry : environments)
    if (auto done = install(entry); !done) return std::unexpected(std::move(done.error()));
  if (document.contains("build")) {
    if (auto done = take_build(document.at("build")); !done) return std::unexpected(std::move(done.error()));
  }
  if (auto done = take_profile(); !done) return std::unexpected(std::move(done.error()));
  return bundle_;
}

}  // namespace

std::expected<Bundle, MakingFailure> open_bundle(const fs::path& file, const BundlePlaces& places,
                                                 const std::stop_token& stop) {
  try {
    return Opening(file, places, stop).run();
  } catch (const fs::filesystem_error& error) {  // a full disk
    return cannot_make(error.what());
  }
}

}  // namespace nocturne::deploy
