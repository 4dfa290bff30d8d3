// What a root file system is known by.

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "measure/container/image_store.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string digest_of_packages(const fs::path& root) {
  std::ifstream status(root / "var/lib/dpkg/status");
  std::vector<std::string> packages;
  std::string name, version;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Package: ")) name = line.substr(9);
    if (line.starts_with("Version: ")) version = line.substr(9);
    if (!line.empty() || name.empty()) continue;
    packages.push_back(name + '=' + version + '\n');
    name.clear();
  }
  if (packages.empty()) return {};
  std::ranges::sort(packages);
  space::Sha256 digest;
  for (const std::string& package : packages) digest.update(package);
  return "sha256:" + digest.finish();
}

std::string digest_of_files(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_symlink() || !entry->is_directory()) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  space::Sha256 digest;
  for (const fs::path& file : files) {
    struct stat info{};
    if (::lstat(file.c_str(), &info) != 0) continue;
    digest.update(fmt::format("{}\n{:o}\n", file.lexically_relative(root).string(), info.st_mode));
    if (S_ISLNK(info.st_mode)) digest.update(fs::read_symlink(file, error).string());
    if (S_ISREG(info.st_mode)) {
      digest.update(fmt::format("{}\n", info.st_size));
      static_cast<void>(space::read_file_in_pieces(file, [&](std::string_view piece) { digest.update(piece); }));
    }
  }
  return "sha256:" + digest.finish();
}

std::expected<void, std::string> make_mount_points(const fs::path& root, const std::vector<ContainerMount>& mounts) {
  for (const ContainerMount& mount : mounts) {
    const fs::path place = root / mount.path.relative_path();
    std::error_code error;
    if (fs::exists(place, error)) continue;
    const bool is_file = fs::is_regular_file(mount.path, error);
    fs::create_directories(is_file ? place.parent_path() : place, error);
    if (!error && is_file && !std::ofstream(place, std::ios::app)) {
      error = std::make_error_code(std::errc::permission_denied);
    }
    if (error) {
      return std::unexpected(fmt::format("no place to mount {} could be made in the image {}: {}", mount.path.string(),
                                         root.string(), error.message()));
    }
  }
  return {};
}

}  // namespace nocturne::measure
