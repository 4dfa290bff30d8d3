#include "db/process_identity.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::db {
namespace {

struct ProcStat {
  char state = '?';
  std::int64_t start_ticks = 0;
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<ProcStat> read_stat(const std::string& process) {
  const std::string text = space::read_file("/proc/" + process + "/stat").value_or("");
  const std::size_t name_end = text.rfind(')');  // the name before it may hold blanks and parentheses
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> stat.start_ticks;
  return fields ? std::optional(stat) : std::nullopt;
}

std::string own_pid_namespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

// The namespace in which a machine starts: PROC_PID_INIT_INO of Linux's include/linux/proc_ns.h.
constexpr const char* kMachinesOwnNamespace = "pid:[4026531836]";

std::string this_machine(const std::string& pid_namespace) {
  if (pid_namespace != kMachinesOwnNamespace) return {};
  std::set<std::string> addresses;
  std::error_code error;
  for (const std::filesystem::directory_entry& card : space::entries_of("/sys/class/net")) {
    // Bridges and tunnels have no device; their addresses are made up.
    if (!std::filesystem::exists(card.path() / "device", error)) continue;
    const std::string address = first_line((card.path() / "address").string());
    if (address.find_first_not_of("0:") != std::string::npos) addresses.insert(address);
  }
  if (addresses.empty()) return {};
  std::string words = first_line("/etc/machine-id");
  for (const std::string& address : addresses) words += '\n' + address;
  return space::short_digest(words);
}

}  // namespace

ProcessIdentity this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto stat = read_stat("self");
  const std::string pid_namespace = own_pid_namespace();
  return {.pid = ::getpid(),
          .start_ticks = stat ? stat->start_ticks : 0,
          .boot_id = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = pid_namespace,
          .host = host.data(),
          .machine = this_machine(pid_namespace)};
}

bool ended_with_its_boot(const ProcessIdentity& process, const ProcessIdentity& self) {
  return !process.machine.empty() && process.machine == self.machine && process.host == self.host &&
         !process.boot_id.empty() && !self.boot_id.empty() && process.boot_id != self.boot_id;
}

Life life_of(const ProcessIdentity& process) {
  if (process.boot_id != first_line("/proc/sys/kernel/random/boot_id"))
    return Life::Dead;  // the machine was started again since
  if (process.pid_namespace != own_pid_namespace()) return Life::Unknown;
  const auto stat = read_stat(std::to_string(process.pid));
  if (!stat) {
    // Asked after the look, for it may have ended between: what exists and shows nothing is hidden (hidepid).
    const bool exists = ::kill(static_cast<pid_t>(process.pid), 0) == 0 || errno != ESRCH;
    return exists ? Life::Alive : Life::Dead;
  }
  const bool gone = stat->state == 'Z' || stat->state == 'X' || stat->start_ticks != process.start_ticks;
  return gone ? Life::Dead : Life::Alive;
}

std::optional<char> state_of_process(std::int64_t pid) {
  const auto stat = read_stat(std::to_string(pid));
  return stat ? std::optional(stat->state) : std::nullopt;
}

}  // namespace nocturne::db
