#include "kernels/command/mount_table.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace nocturne::command {
namespace {

/// Spaces, tabs, line ends and backslashes stand as \040 and so on.
std::string without_escapes(const std::string& word) {
  const auto digit = [&](std::size_t place) { return place < word.size() && word[place] >= '0' && word[place] <= '7'; };
  std::string text;
  for (std::size_t place = 0; place < word.size(); ++place) {
    if (word[place] == '\\' && digit(place + 1) && digit(place + 2) && digit(place + 3)) {
      text += static_cast<char>(std::stoi(word.substr(place + 1, 3), nullptr, 8));
      place += 3;
    } else {
      text += word[place];
    }
  }
  return text;
}

}  // namespace

MountTable::MountTable(const std::string& mountinfo) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || std::distance(dash, words.end()) < 2) continue;
    const std::string options = "," + words[5] + ",";
    mounts_.push_back({.path = without_escapes(words[4]),
                       .kind = *(dash + 1),
                       .read_only = options.find(",ro,") != std::string::npos});
  }
}

MountTable MountTable::read() {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty()) throw std::runtime_error("/proc/self/mountinfo cannot be read");
  return MountTable(text);
}

const MountPoint* MountTable::at(const std::filesystem::path& path) const {
  const auto newest_first = std::views::reverse(mounts_);
  const auto found = std::ranges::find(newest_first, path, &MountPoint::path);
  return found == newest_first.end() ? nullptr : &*found;
}

bool MountTable::any_below(const std::filesystem::path& folder) const {
  return std::ranges::any_of(
      mounts_, [&](const MountPoint& mount) { return mount.path != folder && is_within(mount.path, folder); });
}

bool is_pseudo(const std::string& kind) {
  constexpr std::array kKinds = {
      std::string_view("proc"),       std::string_view("sysfs"),       std::string_view("devpts"),
      std::string_view("devtmpfs"),   std::string_view("cgroup"),      std::string_view("cgroup2"),
      std::string_view("mqueue"),     std::string_view("debugfs"),     std::string_view("tracefs"),
      std::string_view("securityfs"), std::string_view("pstore"),      std::string_view("bpf"),
      std::string_view("configfs"),   std::string_view("fusectl"),     std::string_view("hugetlbfs"),
      std::string_view("efivarfs"),   std::string_view("binfmt_misc"), std::string_view("autofs"),
      std::string_view("rpc_pipefs"), std::string_view("nsfs")};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

}  // namespace nocturne::command
