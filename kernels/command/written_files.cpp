#include "kernels/command/written_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "kernels/command/folder_copy.hpp"

namespace nocturne::command {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  return fs::symlink_status(path).type() != fs::file_type::not_found;
}

/// How an overlay remembers that a file of the lower folder is gone.
bool is_whiteout(const fs::path& path) {
  struct stat state{};
  return ::lstat(path.c_str(), &state) == 0 && S_ISCHR(state.st_mode) && state.st_rdev == makedev(0, 0);
}

/// Whether a folder took the place of the one below it instead of adding to it.
bool is_opaque(const fs::path& folder) {
  char value = 0;
  return ::lgetxattr(folder.c_str(), "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

std::uintmax_t bytes_of(const fs::path& file) {
  std::error_code none;
  const std::uintmax_t bytes = fs::is_regular_file(fs::symlink_status(file)) ? fs::file_size(file, none) : 0;
  return none ? 0 : bytes;
}

std::int64_t made_at(const fs::path& file) {
  struct statx state{};
  if (::statx(AT_FDCWD, file.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_MTIME | STATX_TYPE, &state) != 0)
    return 0;
  const auto in_ns = [](const statx_timestamp& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  if (!S_ISREG(state.stx_mode) || (state.stx_mask & STATX_BTIME) == 0) return 0;
  return std::max(in_ns(state.stx_btime), in_ns(state.stx_mtime));
}

WrittenFile written_file(const fs::path& place, const fs::path& target) {
  return {.path = target, .bytes = bytes_of(place), .made_unix_ns = is_there(target) ? 0 : made_at(place)};
}

/// All files below `folder`, of an upper layer where there are whiteouts; `target` is where they would lie.
void add_below(const fs::path& folder, const fs::path& target, WrittenFiles& files) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path there = target / entry.path().filename();
    if (is_whiteout(entry.path())) {
      if (is_there(there)) files.push_back({.path = there, .deleted = true});
    } else if (!entry.is_symlink() && entry.is_directory()) {
      if (is_opaque(entry.path()) && is_there(there)) files.push_back({.path = there, .deleted = true});
      add_below(entry.path(), there, files);
    } else {
      files.push_back(written_file(entry.path(), there));
    }
  }
}

void add_entry(const fs::path& place, const fs::path& target, WrittenFiles& files) {
  if (fs::is_directory(fs::symlink_status(place)))
    add_below(place, target, files);
  else
    files.push_back(written_file(place, target));
}

void add_built(const BuiltFolder& built, WrittenFiles& files) {
  const std::set<std::string> known(built.known.begin(), built.known.end());
  for (const fs::directory_entry& entry : fs::directory_iterator(built.place)) {
    const std::string name = entry.path().filename().string();
    if (!known.contains(name)) add_entry(entry.path(), built.target / name, files);
  }
  const std::set<std::string> copied(built.copied.begin(), built.copied.end());
  for (const std::string& name : built.known) {
    const fs::path place = built.place / name, target = built.target / name;
    if (!is_there(place))
      files.push_back({.path = target, .deleted = true});
    else if (copied.contains(name) && differs(place, target))
      add_entry(place, target, files);
  }
}

void compare(const fs::path& copy, const fs::path& folder, const std::vector<fs::path>& left_out, WrittenFiles& files) {
  const auto is_left_out = [&](const fs::path& path) { return std::ranges::find(left_out, path) != left_out.end(); };
  for (const fs::directory_entry& entry : fs::directory_iterator(copy)) {
    const fs::path original = folder / entry.path().filename();
    const bool is_folder = !entry.is_symlink() && entry.is_directory();
    if (is_left_out(original)) continue;
    if (is_folder && fs::is_directory(fs::symlink_status(original)))
      compare(entry.path(), original, left_out, files);
    else if (differs(entry.path(), original))
      add_entry(entry.path(), original, files);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const bool gone = !is_there(copy / entry.path().filename());
    if (gone && !is_left_out(entry.path())) files.push_back({.path = entry.path(), .deleted = true});
  }
}

WrittenFiles sorted(WrittenFiles files) {
  std::ranges::stable_sort(files, {}, &WrittenFile::path);
  return files;
}

}  // namespace

WrittenFiles written_in(const OverlayState& state) {
  WrittenFiles files;
  for (const Layer& layer : state.layers) add_below(layer.upper, layer.target, files);
  for (const BuiltFolder& built : state.built) add_built(built, files);
  return sorted(std::move(files));
}

WrittenFiles written_in_copy(const fs::path& place, const fs::path& folder, const std::vector<fs::path>& left_out) {
  WrittenFiles files;
  const auto copy_of = [&](const fs::path& original) { return place / original.relative_path(); };
  for (fs::path inner = folder; inner != folder.root_path(); inner = inner.parent_path()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(copy_of(inner.parent_path()))) {
      const fs::path original = inner.parent_path() / entry.path().filename();
      const bool linked = entry.is_symlink() && fs::read_symlink(entry.path()) == original;
      if (!linked && original != inner) add_entry(entry.path(), original, files);
    }
  }
  compare(copy_of(folder), folder, left_out, files);
  return sorted(std::move(files));
}

WrittenFiles written_below(const fs::path& place, const fs::path& target) {
  WrittenFiles files;
  if (fs::is_directory(place)) add_below(place, target, files);
  return sorted(std::move(files));
}

void make_removable(const fs::path& folder) {
  struct stat state{};
  if (::lstat(folder.c_str(), &state) != 0 || !S_ISDIR(state.st_mode)) return;
  if ((state.st_mode & S_IRWXU) != S_IRWXU) ::chmod(folder.c_str(), (state.st_mode & 07777U) | S_IRWXU);
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) make_removable(entry.path());
}

}  // namespace nocturne::command
