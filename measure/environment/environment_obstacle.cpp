// Why an environment could not be made here, found out without trying.

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"
#include "measure/environment/environment_manifest.hpp"
#include "measure/environment/environment_store.hpp"
#include "measure/environment/python_choice.hpp"
#include "measure/machine/machine.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

EnvironmentFailure in_the_way(const EnvironmentRecipe& recipe, std::string_view what, bool unavailable) {
  return {.reason = fmt::format("{}: {}", recipe.name, what), .log_tail = {}, .unavailable = unavailable};
}

/// What gets its packages.
std::vector<std::string> programs_of(const EnvironmentRecipe& recipe) {
  if (recipe.build) return {"apt-get", "dpkg-source", "cmake", "c++"};
  if (recipe.source == "distribution") return {"apt-get", "dpkg-deb"};
  return {};
}

std::string package_with(const std::string& command) {
  if (command == "readelf" || command == "nm") return "binutils";
  if (command == "dpkg-source") return "dpkg-dev";
  return command == "c++" ? "g++" : command;
}

/// In a container the device may be there without the driver's folder in /proc.
bool shows_gpu(const MachineFacts& machine) {
  std::error_code error;
  return !machine.gpu_driver.empty() || fs::exists("/dev/nvidiactl", error);
}

}  // namespace

std::optional<EnvironmentFailure> EnvironmentStore::obstacle(const EnvironmentRecipe& recipe,
                                                             const PythonPlaces& places,
                                                             const InstallOptions& options) const {
  if (!recipe.is_installed()) {
    std::string_view what = "nothing is installed for a recipe of this kind";
    if (recipe.kind == RecipeKind::Image) what = "nothing is installed for it: a container runtime gets its image";
    if (recipe.kind == RecipeKind::Command) what = "nothing is installed for it: its program is the user's own";
    return in_the_way(recipe, what, false);
  }
  const bool asks_machine = !recipe.needed_isa.empty() || recipe.needs_gpu;
  const MachineFacts machine = asks_machine ? probe_machine_cheaply() : MachineFacts{};
  if (recipe.needs_gpu && !shows_gpu(machine)) {
    return in_the_way(recipe, "needs an NVIDIA GPU, and no driver of one is loaded here", true);
  }
  std::vector<std::string> programs = programs_of(recipe);
  const bool of_debian = !programs.empty();
  programs.insert(programs.end(), recipe.needed_commands.begin(), recipe.needed_commands.end());
  for (const std::string& command : programs) {
    if (find_tool(command)) continue;
    if (of_debian && command == "apt-get") {
      return in_the_way(recipe,
                        "its packages are those of Debian and of what descends from it, and apt-get is not here", true);
    }
    return in_the_way(
        recipe,
        fmt::format("needs the program {}; install it (Debian: apt-get install {})", command, package_with(command)),
        true);
  }
  if (const auto python = python_for(recipe, places); !python) return in_the_way(recipe, python.error(), true);
  for (const std::string& isa : recipe.needed_isa) {
    if (!has_isa(machine, isa)) return in_the_way(recipe, fmt::format("needs a processor with {}", isa), true);
  }
  if (const auto digests = fix_up_digests(recipe, options.fix_ups); !digests) {
    return in_the_way(recipe, "its fix-up is not there: " + digests.error(), false);
  }
  std::error_code error;
  const auto space = fs::space(root_, error);
  const std::int64_t wanted = recipe.disk_bytes + recipe.download_bytes + options.free_bytes_to_keep;
  if (!error && space.available < static_cast<std::uintmax_t>(wanted)) {
    return in_the_way(recipe,
                      fmt::format("needs {} MB, download and {} MB to keep free included; {} has {} MB free: free some "
                                  "space, or set NOCTURNE_DATA to another disk",
                                  wanted / 1'000'000, options.free_bytes_to_keep / 1'000'000, root_.string(),
                                  space.available / 1'000'000),
                      false);
  }
  return std::nullopt;
}

}  // namespace nocturne::measure
