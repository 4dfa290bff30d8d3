#include "tuner/executor/staging.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "space/digest.hpp"
#include "space/folder_entries.hpp"
#include "space/unix_time.hpp"
#include "space/write_file.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".copied";
constexpr std::size_t kDigits = 16;
/// A copy that nobody has used for so long goes when another one is made.
constexpr std::chrono::hours kLongestUnused{30 * 24};

/// What a folder holds.
struct Contents {
  std::vector<fs::path> paths{};  ///< relative to it, folders before what lies in them
  std::uintmax_t files = 0, bytes = 0;
};

void add_file(const fs::path& file, Contents& contents) {
  std::error_code none;
  const std::uintmax_t bytes = fs::is_symlink(fs::symlink_status(file, none)) ? 0 : fs::file_size(file, none);
  ++contents.files;
  contents.bytes += none ? 0 : bytes;
}

/// Empty: it cannot be read to its end.
std::optional<Contents> contents_of(const StagedFolder& wanted) {
  Contents contents;
  for (const fs::path& file : wanted.files) {
    contents.paths.push_back(file);
    add_file(wanted.folder / file, contents);
  }
  if (!wanted.files.empty()) return contents;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(wanted.folder, error), end; !error && entry != end;
       entry.increment(error)) {
    contents.paths.push_back(entry->path().lexically_relative(wanted.folder));
    std::error_code none;
    if (entry->is_symlink(none) || !entry->is_directory(none)) add_file(entry->path(), contents);
  }
  return error ? std::nullopt : std::optional(std::move(contents));
}

/// Of one file, symbolic link or folder, with its time and mode. The folder it goes into is made.
void copy_entry(const fs::path& from, const fs::path& to, std::error_code& error) {
  const auto status = fs::symlink_status(from, error);
  if (error) return;
  if (!fs::is_directory(status)) fs::create_directories(to.parent_path(), error);
  if (error) return;
  if (fs::is_symlink(status)) return fs::copy_symlink(from, to, error);
  if (fs::is_directory(status)) {
    fs::create_directories(to, error);
    // What another user has installed may be read-only.
    if (!error) fs::permissions(to, status.permissions() | fs::perms::owner_all, error);
    return;
  }
  fs::copy_file(from, to, error);
  const auto time = error ? fs::file_time_type() : fs::last_write_time(from, error);
  if (!error) fs::last_write_time(to, time, error);
}

/// Whether as much lies there as was copied: what cleans temporary folders takes single files.
bool is_whole(const fs::path& copy) {
  std::uintmax_t files = 0, bytes = 0;
  if (!(std::ifstream(copy / kMark) >> files >> bytes)) return false;
  const auto now = contents_of({.folder = copy});
  return now && now->files > files && now->bytes >= bytes;  // the mark is one more
}

/// NAME-0123456789abcdef → NAME; empty: it is no copy.
std::string name_of(const fs::path& copy) {
  const std::string text = copy.filename();
  if (text.size() < kDigits + 2 || text.starts_with('.') || text[text.size() - kDigits - 1] != '-') return {};
  return text.substr(0, text.size() - kDigits - 1);
}

std::string said_by_system(int number) {
  return std::generic_category().message(number);
}

bool was_used_long_ago(const fs::path& copy) {
  std::error_code error;
  const auto used = fs::last_write_time(copy / kMark, error);
  return error || fs::file_time_type::clock::now() - used > kLongestUnused;
}

}  // namespace

fs::path Staging::stage(const StagedFolder& wanted, const std::stop_token& stop) {
  if (options_.folder.empty()) return wanted.folder;
  const std::string key = wanted.name + ' ' + wanted.identity;
  if (const auto known = known_.find(key); known != known_.end()) return known->second.folder;
  auto copy = obtain(wanted, stop);
  if (!copy && options_.note) {
    options_.note(fmt::format("{} is not copied to this machine's own disk, and loaded from {}: {}", wanted.name,
                              wanted.folder.string(), stop.stop_requested() ? "it was stopped" : copy.error()));
  }
  if (!copy && stop.stop_requested()) return wanted.folder;
  return (known_[key] = copy ? *std::move(copy) : Copy{.folder = wanted.folder}).folder;
}

measure::Environment Staging::stage(const measure::Environment& environment, const std::stop_token& stop) {
  measure::Environment here = environment;
  // Installed anew from the same lock it has the same key.
  here.folder = stage({.name = environment.recipe,
                       .identity = fmt::format("{} {}", environment.key, space::unix_ns_of(environment.installed)),
                       .folder = environment.folder},
                      stop);
  if (!environment.python.empty())
    here.python = here.folder / environment.python.lexically_relative(environment.folder);
  return here;
}

std::expected<void, std::string> Staging::open() {
  if (!root_.empty()) return {};
  const std::string& local = options_.folder.native();
  std::error_code error;
  if (!options_.folder.is_absolute() || !fs::is_directory(options_.folder, error))
    return std::unexpected(fmt::format("there is no folder '{}' here", local));
  const fs::path root = options_.folder / fmt::format("nocturne-{}", ::geteuid());
  if (::mkdir(root.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return std::unexpected(fmt::format("{} cannot be made: {}", root.string(), said_by_system(errno)));
  struct stat status{};
  // Programs are started from there, in a folder in which everybody may make one of that name.
  const bool ours = ::lstat(root.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
                    (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!ours) return std::unexpected(fmt::format("{} is no folder that you alone may write", root.string()));
  struct statvfs disk{};
  if (::statvfs(root.c_str(), &disk) == 0 && (disk.f_flag & ST_NOEXEC) != 0)
    return std::unexpected(fmt::format("nothing can be started from {}: its disk is mounted noexec", local));
  measure::sweep_incomplete(root);
  root_ = root;
  return {};
}

std::expected<Staging::Copy, std::string> Staging::obtain(const StagedFolder& wanted, const std::stop_token& stop) {
  try {
    if (auto opened = open(); !opened) return std::unexpected(opened.error());
    const std::string name = fmt::format("{}-{}", wanted.name, space::sha256(wanted.identity).substr(0, kDigits));
    Copy copy{.folder = root_ / name};
    const auto making = measure::FileLock::take(measure::lock_of_name(root_, wanted.name), stop);
    copy.in_use = measure::FileLock::try_share(measure::lock_of_name(root_, name));
    if (!making || !copy.in_use) return std::unexpected(fmt::format("{} cannot be locked", copy.folder.string()));
    if (!is_whole(copy.folder))
      if (auto made = make(wanted, copy.folder, stop); !made) return std::unexpected(made.error());
    fs::last_write_time(copy.folder / kMark, fs::file_time_type::clock::now());
    remove_unused([&](const fs::path& other) {
      return (name_of(other) == wanted.name && other != copy.folder) || was_used_long_ago(other);
    });
    return copy;
  } catch (const fs::filesystem_error& error) {
    return std::unexpected(error.what());
  }
}

std::expected<void, std::string> Staging::make(const StagedFolder& wanted, const fs::path& place,
                                               const std::stop_token& stop) {
  const auto contents = contents_of(wanted);
  if (!contents) return std::unexpected(fmt::format("{} cannot be read", wanted.folder.string()));
  const auto is_roomy = [&] {
    std::error_code error;
    const auto room = fs::space(root_, error);
    return error || room.available >= contents->bytes + static_cast<std::uintmax_t>(options_.keep_bytes);
  };
  if (!is_roomy()) remove_unused([](const fs::path&) { return true; });
  if (!is_roomy()) {
    return std::unexpected(fmt::format("it takes {} MB, for which there is no room on the disk of {}",
                                       contents->bytes / 1'000'000, root_.string()));
  }
  if (options_.progress)
    options_.progress(fmt::format("{}: copying {} MB to {}", wanted.name, contents->bytes / 1'000'000, place.string()));
  measure::Incomplete making(root_, wanted.name);
  std::error_code error;
  for (const fs::path& path : contents->paths) {
    if (stop.stop_requested()) return std::unexpected("it was stopped");
    copy_entry(wanted.folder / path, making.path() / path, error);
    if (error)
      return std::unexpected(fmt::format("{} cannot be copied: {}", (wanted.folder / path).string(), error.message()));
  }
  std::ofstream(making.path() / kMark) << contents->files << ' ' << contents->bytes << '\n';
  space::flush_disk_of(making.path());
  making.take_place_of(place);
  return {};
}

void Staging::remove_unused(const std::function<bool(const fs::path&)>& is_unwanted) const {
  for (const fs::directory_entry& entry : space::entries_of(root_)) {
    if (name_of(entry.path()).empty() || !is_unwanted(entry.path())) continue;
    std::error_code ignored;
    if (const auto nobody = measure::FileLock::try_take(measure::lock_of_name(root_, entry.path().filename())))
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace nocturne::tuner
