#include "tuner/executor/contained_paths.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "tuner/executor/containment.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

// The image has its own: mounting the host's over them would undo it.
constexpr std::array<std::string_view, 9> kOfTheSystem = {"/usr", "/bin", "/sbin", "/lib", "/lib64",
                                                          "/etc", "/dev", "/proc", "/sys"};

bool is_of_the_system(const fs::path& path) {
  if (measure::lies_in(path, "/usr/local")) return false;
  return std::ranges::any_of(kOfTheSystem, [&](std::string_view folder) { return measure::lies_in(path, folder); });
}

// A folder directly below / holds too much to be handed over for one file's sake.
fs::path folder_or_file(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return std::distance(folder.begin(), folder.end()) > 2 ? folder : file;
}

/// Reads the line "home = /usr/bin" of pyvenv.cfg; empty where there is none.
fs::path home_of(const fs::path& configuration) {
  std::ifstream in(configuration);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || !line.starts_with("home")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", equals + 1);
    return begin == std::string::npos ? fs::path() : fs::path(line.substr(begin));
  }
  return {};
}

/// PREFIX of PREFIX/bin/PROGRAM, else the program's folder or itself.
fs::path prefix_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return folder.filename() == "bin" && std::distance(folder.begin(), folder.end()) > 3 ? folder.parent_path()
                                                                                       : folder_or_file(program);
}

}  // namespace

std::vector<fs::path> folders_of_program(const fs::path& program) {
  const fs::path environment = program.parent_path().parent_path();
  std::error_code error;
  if (!fs::is_regular_file(environment / "pyvenv.cfg", error)) return {folder_or_file(program)};
  std::vector<fs::path> folders = {environment};
  // The link may lead through others, and to another place than the one the environment was made from.
  if (const fs::path home = home_of(environment / "pyvenv.cfg"); !home.empty()) {
    folders.push_back(prefix_of(home / "python3"));
  }
  fs::path link = program;
  for (int hops = 0; hops < 10 && fs::is_symlink(link, error); ++hops) {
    const fs::path target = fs::read_symlink(link, error);
    link = (link.parent_path() / target).lexically_normal();
    if (!measure::lies_in(link, environment)) folders.push_back(prefix_of(link));
  }
  return folders;
}

bool ContainedPaths::may_be_inside(const fs::path& path) const {
  if (image_.root.empty()) return true;
  // Links of the image are absolute as often as not, and then lead out of it: their being there is enough.
  std::error_code error;
  fs::path place = image_.root / path.relative_path();
  if (fs::is_symlink(place, error)) return true;
  if (fs::exists(place, error)) return fs::is_directory(place, error) || fs::file_size(place, error) > 0;
  // Debian's /bin and /lib lead to /usr.
  place = image_.root / "usr" / path.relative_path();
  return fs::exists(place, error);
}

void ContainedPaths::add(const fs::path& path, bool writable) {
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return;
  const fs::path spelled = path.lexically_normal();
  if (is_of_the_system(spelled)) return;
  mounts_.push_back({.path = spelled, .writable = writable});
  const fs::path real = fs::canonical(spelled, error);
  if (!error && real != spelled && !is_of_the_system(real)) mounts_.push_back({.path = real, .writable = writable});
}

std::expected<void, std::string> ContainedPaths::add_program_folder(const fs::path& path) {
  if (!is_of_the_system(path)) {
    add(path);
    return {};
  }
  if (may_be_inside(path)) return {};
  return std::unexpected(fmt::format("the image {} has no {}: its packages must bring it, or the worker use another",
                                     image_.name, path.string()));
}

std::expected<void, std::string> ContainedPaths::add_command(const std::vector<std::string>& argv) {
  bool is_program = true;
  for (const std::string& word : argv) {
    const bool first = std::exchange(is_program, false);
    const fs::path path(word);
    std::error_code error;
    if (!path.is_absolute() || !fs::exists(path, error)) continue;
    std::vector<fs::path> folders;
    if (first) {
      folders = folders_of_program(path.lexically_normal());
    } else {
      folders = {fs::is_directory(path, error) ? path : folder_or_file(path)};
    }
    if (first && is_of_the_system(path)) folders = {path};
    for (const fs::path& folder : folders) {
      if (auto added = add_program_folder(folder); !added) return added;
    }
  }
  return {};
}

std::expected<void, std::string> ContainedPaths::add_library(const fs::path& library,
                                                             const measure::ContainerRuntime& runtime) {
  if (!image_.root.empty() && may_be_inside(library)) return {};
  if (runtime.makes_mount_points()) {
    mounts_.push_back({.path = library, .writable = false});
    return {};
  }
  return std::unexpected(
      fmt::format("{} is to be preloaded, and the image {} does not have it: a recipe with its "
                  "package would bring it",
                  library.string(), image_.name));
}

}  // namespace nocturne::tuner
