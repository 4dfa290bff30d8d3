#pragma once

/// A small disk for a test: a file system in memory that only the calling process and what it starts can see. As root,
/// and for other users where the kernel lets them have namespaces.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace nocturne::test {

/// Mounts it on `folder`; `size` as of tmpfs: "3m". Empty, or why that cannot be.
/// REQUIRES: the process is a child made for this and has one thread, for there is no way back.
inline std::string mount_small_disk(const std::filesystem::path& folder, const std::string& size) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const auto because = [](const std::string& what) { return what + ": " + std::strerror(errno); };
  if (::unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) return because("no mounts of its own");
  if (user != 0) {  // who is not mapped owns nothing
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user << ' ' << user << " 1";
    std::ofstream("/proc/self/gid_map") << group << ' ' << group << " 1";
  }
  // In a chroot "/" is no mount (EINVAL), and what is mounted below it is whose root that is to keep apart.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL)
    return because("its mounts cannot be kept apart");
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) return because("no small disk");
  return {};
}

}  // namespace nocturne::test
