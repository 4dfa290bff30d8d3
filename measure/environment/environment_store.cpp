#include "measure/environment/environment_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <utility>

#include "measure/artifact/lock.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/environment/environment_installer.hpp"
#include "measure/environment/environment_manifest.hpp"
#include "measure/environment/pip_error.hpp"
#include "measure/environment/source_build.hpp"
#include "measure/machine/machine.hpp"
#include "space/folder_entries.hpp"
#include "space/write_file.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::size_t kFolderDigits = 12;  // of the key, in the folder's name
constexpr std::string_view kCurrent = ".current";

std::string folder_name(const std::string& recipe, const std::string& key) {
  return fmt::format("{}-{}", recipe, key.substr(0, kFolderDigits));
}

bool is_folder_of(std::string_view name, std::string_view recipe) {
  if (name.size() != recipe.size() + 1 + kFolderDigits || !name.starts_with(recipe)) return false;
  name.remove_prefix(recipe.size());
  return name.front() == '-' &&
         std::ranges::all_of(name.substr(1), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

EnvironmentFailure error_with(const EnvironmentRecipe& recipe, std::string_view what) {
  return {.reason = fmt::format("{}: {}", recipe.name, what)};
}

EnvironmentFailure full_disk(const EnvironmentRecipe& recipe, const fs::path& root) {
  EnvironmentFailure failure = error_with(recipe, explain_pip("No space left on device", root));
  failure.no_room = true;
  return failure;
}

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    // A link's target is counted where it lies, or belongs to somebody else.
    if (entry->is_symlink(gone) || !entry->is_regular_file(gone)) continue;
    if (const auto size = entry->file_size(gone); !gone) bytes += size;
  }
  return bytes;
}

EnvironmentFailure in_the_way(const EnvironmentRecipe& recipe, std::string_view what, bool unavailable) {
  return {.reason = fmt::format("{}: {}", recipe.name, what), .unavailable = unavailable};
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

EnvironmentStore::EnvironmentStore(const fs::path& root) {
  fs::create_directories(root);
  root_ = fs::canonical(root);
  // What lies here is executed later: nobody else may write into it.
  fs::permissions(root_, fs::perms::owner_all);
  for (const char* folder : {".downloads", ".log"}) fs::create_directories(root_ / folder);
  sweep_incomplete(root_);
}

std::optional<fs::path> EnvironmentStore::current_folder(const std::string& recipe) const {
  std::ifstream in(root_ / (recipe + std::string(kCurrent)));
  std::string name;
  if (!std::getline(in, name) || !is_folder_of(name, recipe)) return std::nullopt;
  return root_ / name;
}

std::optional<Environment> EnvironmentStore::find(const EnvironmentRecipe& recipe) const {
  const auto folder = current_folder(recipe.name);
  if (!folder) return std::nullopt;
  auto found = read_manifest_of(*folder);
  // Compared by what decides the installation: a corrected title or note installs nothing anew.
  if (!found || found->recipe != installed_part(recipe)) return std::nullopt;
  return std::move(found->environment);
}

std::expected<Environment, EnvironmentFailure> EnvironmentStore::obtain(const EnvironmentRecipe& recipe,
                                                                        const PythonPlaces& places,
                                                                        const InstallOptions& options,
                                                                        const std::stop_token& stop) {
  if (auto found = find(recipe)) return std::move(*found);
  return make(recipe, places, options, stop, /*anew=*/false);
}

std::expected<Environment, EnvironmentFailure> EnvironmentStore::update(const EnvironmentRecipe& recipe,
                                                                        const PythonPlaces& places,
                                                                        const InstallOptions& options,
                                                                        const std::stop_token& stop) {
  return make(recipe, places, options, stop, /*anew=*/true);
}

std::expected<Environment, EnvironmentFailure> EnvironmentStore::make(const EnvironmentRecipe& recipe,
                                                                      const PythonPlaces& places,
                                                                      const InstallOptions& options,
                                                                      const std::stop_token& stop, bool anew) {
  if (auto failed = obstacle(recipe, places, options)) return std::unexpected(std::move(*failed));
  const fs::path lock_file = lock_of_name(root_, recipe.name);
  // Tried first, only so that waiting can be said.
  auto lock = FileLock::try_take(lock_file);
  if (!lock) {
    if (options.progress)
      options.progress(recipe.name + ": another process installs or removes it now; waiting for it");
    lock = FileLock::take(lock_file, stop);
  }
  if (!lock) {
    EnvironmentFailure failure =
        error_with(recipe, fmt::format("{} cannot be locked, or it was stopped", lock_file.string()));
    failure.interrupted = stop.stop_requested();
    return std::unexpected(std::move(failure));
  }
  if (auto found = anew ? std::nullopt : find(recipe)) return std::move(*found);  // made while we waited
  try {
    return make_locked(recipe, places, options, stop);
  } catch (const fs::filesystem_error& error) {
    const bool full = error.code() == std::errc::no_space_on_device;
    return std::unexpected(full ? full_disk(recipe, root_) : error_with(recipe, error.what()));
  }
}

std::expected<Environment, EnvironmentFailure> EnvironmentStore::make_locked(const EnvironmentRecipe& recipe,
                                                                             const PythonPlaces& places,
                                                                             const InstallOptions& options,
                                                                             const std::stop_token& stop) {
  const auto began = Clock::now();
  const auto python = python_for(recipe, places);
  const auto fix_ups = fix_up_digests(recipe, options.fix_ups);
  if (!python || !fix_ups) return std::unexpected(error_with(recipe, python ? fix_ups.error() : python.error()));
  const Incomplete making(root_, recipe.name);
  const fs::path environment = making.path() / "environment";
  const fs::path temporary = making.path() / "tmp";
  fs::create_directories(temporary);
  const fs::path log = root_ / ".log" / (recipe.name + ".txt");
  // A log of an earlier attempt would be taken for this one's.
  fs::remove(log);
  auto lock = install_environment(
      recipe, *python, options,
      {.folder = environment, .temporary = temporary, .downloads = root_ / ".downloads" / recipe.name, .log = log},
      stop);
  if (!lock) {
    lock.error().reason += fmt::format(" (all its output: {})", log.string());
    return std::unexpected(std::move(lock.error()));
  }
  Environment made{.recipe = recipe.name,
                   .key = environment_key(recipe, *fix_ups, *lock, recipe.build ? build_abi(recipe) : python->abi),
                   .lock = std::move(*lock),
                   .interpreter = *python,
                   .bytes = bytes_below(environment),
                   .installed_now = true,
                   .install_time = Clock::now() - began,
                   .installed = std::chrono::system_clock::now()};
  fs::copy_file(log, environment / "install.log");
  std::ofstream lock_text(environment / "lock.txt");
  for (const std::string& line : made.lock) lock_text << line << '\n';
  if (!lock_text.flush() || !write_manifest(environment, made, recipe, *fix_ups))
    return std::unexpected(full_disk(recipe, root_));
  space::flush_disk_of(root_);
  const auto before = current_folder(recipe.name);
  made.folder = root_ / folder_name(recipe.name, made.key);
  if (!recipe.build) made.python = made.folder / "bin/python";
  if (!read_manifest_of(made.folder)) {  // else the same versions are there already, perhaps in use
    fs::remove_all(made.folder);
    fs::rename(environment, made.folder);
    space::flush_disk_of(root_);
  }
  // The one step that makes it count. A kill before it leaves the environment of before; after it, the new one.
  if (!space::write_file(root_ / (recipe.name + std::string(kCurrent)), made.folder.filename().string() + '\n'))
    return std::unexpected(error_with(recipe, root_.string() + " cannot be written"));
  space::flush_disk_of(root_);
  remove_folders(recipe.name, {made.folder, before.value_or(made.folder)});  // a campaign may still use the one before
  std::error_code ignored;
  // Downloads are kept only until they have been installed, so that an attempt that was interrupted need not download
  // again.
  fs::remove_all(root_ / ".downloads" / recipe.name, ignored);
  return made;
}

void EnvironmentStore::remove_folders(const std::string& recipe, const std::vector<fs::path>& but) const {
  std::vector<fs::path> gone;
  for (const fs::directory_entry& entry : space::entries_of(root_))
    if (is_folder_of(entry.path().filename().string(), recipe) && std::ranges::find(but, entry.path()) == but.end())
      gone.push_back(entry.path());
  std::error_code ignored;
  for (const fs::path& folder : gone) fs::remove_all(folder, ignored);
}

std::vector<Environment> EnvironmentStore::list() const {
  std::vector<Environment> result;
  for (const fs::directory_entry& entry : space::entries_of(root_)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kCurrent)) continue;
    const auto folder = current_folder(name.substr(0, name.size() - kCurrent.size()));
    if (!folder) continue;
    if (auto found = read_manifest_of(*folder)) result.push_back(std::move(found->environment));
  }
  std::ranges::sort(result, {}, &Environment::recipe);
  return result;
}

std::vector<Environment> EnvironmentStore::list_all() const {
  std::vector<Environment> result;
  std::error_code error;
  for (const fs::directory_entry& entry : space::entries_of(root_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !entry.is_directory(error)) continue;
    auto found = read_manifest_of(entry.path());
    if (found && is_folder_of(name, found->environment.recipe)) result.push_back(std::move(found->environment));
  }
  std::ranges::sort(result, {}, [](const Environment& each) { return std::pair(each.recipe, each.installed); });
  return result;
}

bool EnvironmentStore::remove(const Environment& environment) {
  const bool ours = environment.folder.parent_path() == root_ &&
                    is_folder_of(environment.folder.filename().string(), environment.recipe);
  const auto lock = ours ? FileLock::try_take(lock_of_name(root_, environment.recipe)) : std::nullopt;
  if (!lock) return false;
  std::error_code ignored;
  if (current_folder(environment.recipe) == environment.folder)  // from here on it does not count, come what may
    fs::remove(root_ / (environment.recipe + std::string(kCurrent)), ignored);
  return fs::remove_all(environment.folder, ignored) > 0;
}

bool EnvironmentStore::remove(const std::string& recipe) {
  const bool plain = !recipe.empty() && !recipe.contains('/') && !recipe.starts_with('.');
  if (!plain) return false;
  const auto lock = FileLock::try_take(lock_of_name(root_, recipe));
  if (!lock) return false;
  std::error_code ignored;
  const bool there = fs::remove(root_ / (recipe + std::string(kCurrent)), ignored);
  remove_folders(recipe, {});
  fs::remove_all(root_ / ".downloads" / recipe, ignored);
  return there;
}

// Why an environment could not be made here, found out without trying.

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
  if (recipe.needs_gpu && !shows_gpu(machine))
    return in_the_way(recipe, "needs an NVIDIA GPU, and no driver of one is loaded here", true);
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
  for (const std::string& isa : recipe.needed_isa)
    if (!has_isa(machine, isa)) return in_the_way(recipe, fmt::format("needs a processor with {}", isa), true);
  if (const auto digests = fix_up_digests(recipe, options.fix_ups); !digests)
    return in_the_way(recipe, "its fix-up is not there: " + digests.error(), false);
  std::error_code error;
  const auto space = fs::space(root_, error);
  // Downloads and their installed files are on this disk at the same time.
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
