#include "db/process_identity.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

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
  std::ifstream file("/proc/" + process + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the name before it may hold blanks and parentheses
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  ProcStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) {
    fields >> skipped;
  }
  fields >> stat.start_ticks;
  return fields ? std::optional(stat) : std::nullopt;
}

std::string own_pid_namespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

}  // namespace

ProcessIdentity this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto stat = read_stat("self");
  return {.pid = ::getpid(),
          .start_ticks = stat ? stat->start_ticks : 0,
          .boot_id = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = own_pid_namespace(),
          .host = host.data()};
}

Life life_of(const ProcessIdentity& process) {
  if (process.boot_id != first_line("/proc/sys/kernel/random/boot_id")) {
    return Life::Dead;  // the machine was started again since
  }
  if (process.pid_namespace != own_pid_namespace()) {
    return Life::Unknown;
  }
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) {
    return Life::Dead;
  }
  const auto stat = read_stat(std::to_string(process.pid));
  if (!stat) {
    return Life::Alive;  // exists, but /proc is closed to us (hidepid)
  }
  const bool gone = stat->state == 'Z' || stat->state == 'X' || stat->start_ticks != process.start_ticks;
  return gone ? Life::Dead : Life::Alive;
}

}  // namespace nocturne::db
