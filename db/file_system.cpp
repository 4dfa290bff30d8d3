#include "db/file_system.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

namespace nocturne::db {
namespace {

struct KnownMagic {
  std::uint32_t magic;
  std::string_view type;
};

/// statfs(2), linux/magic.h and the sources of those that are not in it. Cluster file systems are here, too: their
/// locks work, the memory behind their files is not shared between machines.
constexpr std::array kRemote = {
    KnownMagic{0x6969, "nfs"},       KnownMagic{0x517B, "smb"},        KnownMagic{0xFF534D42, "cifs"},
    KnownMagic{0xFE534D42, "smb2"},  KnownMagic{0x01021997, "9p"},     KnownMagic{0x0BD00BD0, "lustre"},
    KnownMagic{0x00C36400, "ceph"},  KnownMagic{0x5346414F, "afs"},    KnownMagic{0x6B414653, "afs"},
    KnownMagic{0x73757245, "coda"},  KnownMagic{0x564C, "ncp"},        KnownMagic{0x01161970, "gfs2"},
    KnownMagic{0x7461636F, "ocfs2"}, KnownMagic{0x47504653, "gpfs"},   KnownMagic{0x19830326, "beegfs"},
    KnownMagic{0xAAD7AAEA, "panfs"}, KnownMagic{0x786F4256, "vboxsf"}, KnownMagic{0xBACBACBC, "vmhgfs"},
    KnownMagic{0x013111A8, "ibrix"},
};

constexpr std::uint32_t kFuse = 0x65735546;

/// File systems in user space over a disk of this machine.
constexpr std::array<std::string_view, 13> kLocalFuse = {
    "fuseblk",    "fuse.fuse-overlayfs", "fuse.mergerfs",  "fuse.unionfs",  "fuse.bindfs", "fuse.ntfs-3g", "fuse.ntfs",
    "fuse.exfat", "fuse.encfs",          "fuse.gocryptfs", "fuse.securefs", "fuse.lxcfs",  "fuse.zfs",
};

std::filesystem::path nearest_existing(std::filesystem::path folder) {
  std::error_code ignored;
  if (folder.empty()) return ".";
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string mounted_as(std::istream& mountinfo, unsigned major, unsigned minor) {
  const std::string device = fmt::format("{}:{}", major, minor);
  std::string line, found;
  while (std::getline(mountinfo, line)) {
    // 36 35 98:0 /root /mount/point rw,noatime master:1 - TYPE /dev/root rw: the optional fields end with a dash.
    std::istringstream fields(line);
    std::string id, parent, number, word;
    fields >> id >> parent >> number;
    if (number != device) continue;
    while (fields >> word && word != "-") {
    }
    if (fields >> word) found = word;
  }
  return found;
}

FileSystem classify_file_system(std::uint32_t magic, std::string_view mount_type) {
  const auto* known = std::ranges::find(kRemote, magic, &KnownMagic::magic);
  if (known != kRemote.end()) return {.type = std::string(known->type), .remote = true};
  if (magic != kFuse) return {.type = std::string(mount_type), .remote = false};
  return {.type = mount_type.empty() ? "fuse" : std::string(mount_type),
          .remote = std::ranges::find(kLocalFuse, mount_type) == kLocalFuse.end()};
}

FileSystem file_system_of(const std::filesystem::path& folder) {
  const std::filesystem::path there = nearest_existing(folder);
  struct statfs of_folder{};
  if (::statfs(there.c_str(), &of_folder) != 0) return {};
  const auto magic = static_cast<std::uint32_t>(of_folder.f_type);
  struct stat status{};
  if (magic != kFuse || ::stat(there.c_str(), &status) != 0) return classify_file_system(magic, {});
  std::ifstream mounts("/proc/self/mountinfo");
  return classify_file_system(magic, mounted_as(mounts, major(status.st_dev), minor(status.st_dev)));
}

}  // namespace nocturne::db
