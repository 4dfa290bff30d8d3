#include "measure/environment/package_collection.hpp"

#include <fmt/format.h>

#include "measure/environment/debian_packages.hpp"
#include "measure/environment/environment_installer.hpp"
#include "measure/environment/install_session.hpp"
#include "measure/environment/package_hashes.hpp"
#include "measure/environment/pip_error.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

std::optional<EnvironmentFailure> collect_wheels(const InstallSession& session, const Environment& environment,
                                                 const fs::path& folder) {
  const auto lock = locked_arguments(session, environment.interpreter, environment.lock);
  if (!lock) return lock.error();
  if (lock->empty()) return std::nullopt;
  std::vector<std::string> arguments = {environment.python.string(),     "-m", "pip", "wheel", "--no-deps",
                                        "--wheel-dir=" + folder.string()};
  for (std::string& option : session.pip_options()) arguments.push_back(std::move(option));
  for (const fs::path& folder_of_python : bundled_with(environment.interpreter)) {
    arguments.push_back("--find-links=" + folder_of_python.string());
  }
  arguments.insert(arguments.end(), lock->begin(), lock->end());
  const auto ended = session.start(std::move(arguments));
  if (ended.result.ok()) return std::nullopt;
  return session.failure(ended, "pip wheel", explain_pip(ended.output, session.store()));
}

std::optional<EnvironmentFailure> collect_debian(const InstallSession& session, const Environment& environment,
                                                 const fs::path& folder) {
  std::vector<DebianPackage> packages;
  for (const std::string& line : environment.lock) {
    auto package = package_of_lock(line);
    if (!package) return session.error(package.error());
    packages.push_back(std::move(*package));
  }
  return download_debian_packages(session, packages, folder);
}

}  // namespace

std::string bound_to_machine(const Environment& environment, const EnvironmentRecipe& recipe) {
  if (recipe.build || recipe.source == "distribution") return {};
  const std::string text = space::read_file(environment.folder / "pyvenv.cfg").value_or("");
  if (!text.contains("include-system-site-packages = true")) return {};
  return recipe.name + " takes its packages from this machine's own Python: they cannot be handed on";
}

std::optional<EnvironmentFailure> collect_packages(const Environment& environment, const EnvironmentRecipe& recipe,
                                                   const InstallOptions& options, const fs::path& folder,
                                                   const fs::path& temporary, const std::stop_token& stop) {
  fs::create_directories(folder);
  fs::create_directories(temporary / "downloads");
  const InstallPlaces places{.folder = environment.folder,
                             .temporary = temporary,
                             .downloads = temporary / "downloads",
                             .log = temporary / "log.txt"};
  InstallSession session(recipe, options, places, stop);
  session.expect_steps(1);
  session.say(fmt::format("collect {} packages", environment.lock.size()));
  if (recipe.build) {
    for (const char* part : {"include", "lib", "share"}) {
      if (!fs::exists(environment.folder / part)) continue;
      fs::copy(environment.folder / part, folder / part, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
    return std::nullopt;
  }
  if (recipe.source == "distribution") return collect_debian(session, environment, folder);
  return collect_wheels(session, environment, folder);
}

}  // namespace nocturne::measure
