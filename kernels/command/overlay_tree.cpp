#include "kernels/command/overlay_tree.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "kernels/command/folder_copy.hpp"

namespace nocturne::command {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

/// One write: the kernel takes such a file whole.
void write_whole(const char* file, const std::string& text) {
  const int number = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool written = number >= 0 && ::write(number, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (number >= 0) ::close(number);
  errno = error;
  if (!written) give_up(std::string("a user namespace of its own: ") + file);
}

/// Folders whose files nobody keeps, or that have to be the system's own to work.
bool is_of_the_system(const fs::path& folder) {
  constexpr std::array kFolders = {"/dev", "/proc", "/run", "/sys"};
  return std::ranges::find(kFolders, folder) != kFolders.end();
}

std::string with_reason(const fs::path& path, const std::string& why) {
  return path.string() + " (" + why + ")";
}

void make_mount_point(const fs::path& place, bool folder) {
  const int made = folder ? ::mkdir(place.c_str(), 0700) : ::mknod(place.c_str(), S_IFREG | 0600, 0);
  if (made != 0) give_up("cannot make '" + place.string() + "'");
}

}  // namespace

nlohmann::json to_json(const OverlayState& state) {
  nlohmann::json json = {
      {"layers", nlohmann::json::array()}, {"built", nlohmann::json::array()}, {"notes", state.notes}};
  for (const Layer& layer : state.layers)
    json["layers"].push_back({{"target", layer.target.string()}, {"upper", layer.upper.string()}});
  for (const BuiltFolder& built : state.built) {
    json["built"].push_back({{"target", built.target.string()},
                             {"place", built.place.string()},
                             {"known", built.known},
                             {"copied", built.copied}});
  }
  return json;
}

OverlayState overlay_state_from(const nlohmann::json& json) {
  OverlayState state;
  for (const auto& layer : json.at("layers")) {
    state.layers.push_back(
        {.target = layer.at("target").get<std::string>(), .upper = layer.at("upper").get<std::string>()});
  }
  for (const auto& built : json.at("built")) {
    state.built.push_back({.target = built.at("target").get<std::string>(),
                           .place = built.at("place").get<std::string>(),
                           .known = built.at("known").get<std::vector<std::string>>(),
                           .copied = built.at("copied").get<std::vector<std::string>>()});
  }
  state.notes = json.at("notes").get<std::vector<std::string>>();
  return state;
}

void OverlayTree::cover(const fs::path& real, const fs::path& place, const Coverage& coverage) {
  if (!mounts_.any_below(real)) return overlay(real, place);
  const fs::path parts = next_folder();
  build(real, parts, coverage);
  show(parts, place);
}

void OverlayTree::cover_if_possible(const fs::path& real, const fs::path& place) {
  try {
    cover(real, place, {.whole = true});
  } catch (const std::exception& error) {
    state_.notes.push_back("not watched: " + with_reason(real, error.what()));
  }
}

void OverlayTree::build(const fs::path& real, const fs::path& place, const Coverage& coverage) {
  BuiltFolder built{.target = real, .place = place, .known = {}, .copied = {}};
  for (const fs::directory_entry& entry : fs::directory_iterator(real)) {
    built.known.push_back(entry.path().filename().string());
    cover_entry(entry, built, coverage);
  }
  copy_attributes(real, place);
  state_.built.push_back(std::move(built));
}

void OverlayTree::cover_entry(const fs::directory_entry& entry, BuiltFolder& built, const Coverage& coverage) {
  const fs::path& real = entry.path();
  const fs::path place = built.place / real.filename();
  try {
    if (entry.is_symlink()) return fs::copy_symlink(real, place);
    if (entry.is_regular_file()) return cover_file(real, built, coverage);
    make_mount_point(place, entry.is_directory());
    const MountPoint* mount = mounts_.at(real);
    const bool as_it_is = !entry.is_directory() || is_of_the_system(real) ||
                          (mount != nullptr && (mount->read_only || is_pseudo(mount->kind)));
    return as_it_is ? show(real, place) : cover(real, place, coverage);
  } catch (const std::exception& error) {
    if (coverage.whole) throw;
    show_unwatched(real, place, error.what());
  }
}

void OverlayTree::show_unwatched(const fs::path& real, const fs::path& place, const std::string& why) {
  if (!fs::exists(fs::symlink_status(real))) return;  // it went away meanwhile
  const std::string what = with_reason(real, why);
  try {
    show(real, place);
    state_.notes.push_back("not watched: " + what);
  } catch (const std::exception&) {
    state_.notes.push_back("not to be seen: " + what);
  }
}

void OverlayTree::cover_file(const fs::path& real, BuiltFolder& built, const Coverage& coverage) {
  const fs::path place = built.place / real.filename();
  const bool changeable = ::access(real.c_str(), W_OK) == 0;
  const bool small = fs::file_size(real) <= coverage.copied_bytes;
  if (changeable && small) {
    duplicate_file(real, place);
    built.copied.push_back(real.filename().string());
    return;
  }
  if (changeable && coverage.whole)
    throw std::runtime_error("'" + real.string() + "' is too large to be copied for each run");
  make_mount_point(place, false);
  if (changeable) return show_unwatched(real, place, "too large to be copied");
  show(real, place);
}

void OverlayTree::overlay(const fs::path& real, const fs::path& place) {
  const fs::path own = next_folder();
  const fs::path upper = own / "upper", work = own / "work";
  if (::mkdir(upper.c_str(), 0700) != 0 || ::mkdir(work.c_str(), 0700) != 0)
    give_up("cannot make '" + own.string() + "'");
  copy_attributes(real, upper);
  // Names by number: in paths, the options would need commas, colons and backslashes escaped, as each kernel has it.
  const HeldFolder lower(real), writes(upper), spare(work);
  const std::string options =
      "userxattr,lowerdir=" + lower.name() + ",upperdir=" + writes.name() + ",workdir=" + spare.name();
  if (::mount("overlay", place.c_str(), "overlay", 0, options.c_str()) != 0)
    give_up("no overlay over '" + real.string() + "'");
  ::chmod((spare.name() + "/work").c_str(), 0700);  // 0 as the kernel makes it: this user could not remove it
  state_.layers.push_back({.target = real, .upper = upper});
}

fs::path OverlayTree::next_folder() {
  fs::path folder = layers_ / std::to_string(folders_++);
  if (::mkdir(folder.c_str(), 0700) != 0) give_up("cannot make '" + folder.string() + "'");
  return folder;
}

void enter_namespace() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) give_up("a namespace of its own is refused");
    write_whole("/proc/self/setgroups", "deny");
    write_whole("/proc/self/uid_map", user + " " + user + " 1");
    write_whole("/proc/self/gid_map", group + " " + group + " 1");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) give_up("mounts of its own are refused");
}

void show(const fs::path& real, const fs::path& place) {
  if (::mount(real.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    give_up("'" + real.string() + "' cannot be shown");
}

HeldFolder::HeldFolder(const fs::path& path) : number_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (number_ < 0) give_up("cannot open '" + path.string() + "'");
}

HeldFolder::~HeldFolder() {
  if (number_ >= 0) ::close(number_);
}

void HeldFolder::show_alone(const fs::path& place) const {
  if (::mount(name().c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0)
    give_up("'" + place.string() + "' cannot be shown");
}

void change_root(const fs::path& root) {
  if (::chdir(root.c_str()) != 0) give_up("cannot enter '" + root.string() + "'");
  const bool changed = ::syscall(SYS_pivot_root, ".", ".") == 0 && ::umount2(".", MNT_DETACH) == 0;
  if (!changed && ::chroot(".") != 0) give_up("cannot make '" + root.string() + "' the root");
  if (::chdir("/") != 0) give_up("cannot enter the root");
}

}  // namespace nocturne::command
