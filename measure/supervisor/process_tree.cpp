#include "measure/supervisor/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "space/parse_number.hpp"

namespace nocturne::measure {
namespace {

std::string read_whole(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[16384];
  ssize_t count = 0;
  while ((count = ::read(file, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  ::close(file);
  return text;
}

// Names of a folder that are numbers: processes of /proc, threads of /proc/PID/task.
std::vector<pid_t> numbered_entries(const std::string& folder) {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) return found;
  while (const dirent* entry = ::readdir(directory.get()))
    if (const auto pid = space::parse_number<pid_t>(entry->d_name)) found.push_back(*pid);
  return found;
}

struct Stat {
  char state = '?';
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;  // user and system, of itself and of children it has waited for
};

// The name of the program may hold spaces and parentheses, so fields are counted from the last ')'.
std::optional<Stat> read_stat(pid_t pid) {
  const std::string text = read_whole("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  Stat stat;
  int field = 1;  // the first part, behind ')', is empty
  for (const auto part : std::string_view(text).substr(close + 1) | std::views::split(' ')) {
    const std::string_view word(part.begin(), part.end());
    ++field;
    if (field == 3 && !word.empty()) stat.state = word.front();
    if (field == 4) stat.parent = space::parse_number<pid_t>(word).value_or(0);
    if (field >= 14 && field <= 17) stat.cpu_ticks += space::parse_number<std::uint64_t>(word).value_or(0);
    if (field == 22) {
      stat.start_ticks = space::parse_number<std::uint64_t>(word).value_or(0);
      return stat;
    }
  }
  return std::nullopt;
}

bool is_gone(char state) {
  return state == 'Z' || state == 'X' || state == 'x';
}

std::uint64_t own_pid_namespace() {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// The kernel lists children a thread (CONFIG_PROC_CHILDREN): a tree of ten processes costs tens of reads, where a walk
// over all of /proc costs hundreds and would disturb what is measured.
std::vector<pid_t> listed_children(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const pid_t thread : numbered_entries(tasks)) {
    const std::string text = read_whole(tasks + '/' + std::to_string(thread) + "/children");
    for (const auto part : std::string_view(text) | std::views::split(' '))
      if (const auto child = space::parse_number<pid_t>(std::string_view(part.begin(), part.end())))
        children.push_back(*child);
  }
  return children;
}

bool kernel_lists_children() {
  static const bool answer = ::access("/proc/thread-self/children", R_OK) == 0;
  return answer;
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : numbered_entries("/proc"))
    if (const auto stat = read_stat(pid)) children.emplace(stat->parent, pid);
  return children;
}

std::string variable(const std::string& environment, const char* name) {
  const std::string key = std::string(name) + '=';
  std::size_t at = environment.starts_with(key) ? 0 : environment.find('\0' + key);
  if (at == std::string::npos) return {};
  if (environment[at] == '\0') ++at;
  at += key.size();
  return environment.substr(at, environment.find('\0', at) - at);
}

}  // namespace

std::string ProcessIdentity::to_text() const {
  return std::to_string(pid) + '-' + std::to_string(start_ticks) + '-' + std::to_string(pid_namespace);
}

std::optional<ProcessIdentity> ProcessIdentity::from_text(std::string_view text) {
  const std::size_t first = text.find('-');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find('-', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto pid = space::parse_number<pid_t>(text.substr(0, first));
  const auto start = space::parse_number<std::uint64_t>(text.substr(first + 1, second - first - 1));
  const auto name_space = space::parse_number<std::uint64_t>(text.substr(second + 1));
  if (!pid || !start || !name_space) return std::nullopt;
  return ProcessIdentity{*pid, *start, *name_space};
}

ProcessIdentity ProcessIdentity::of_this_process() {
  ProcessIdentity identity;
  identity.pid = ::getpid();
  identity.pid_namespace = own_pid_namespace();
  if (const auto stat = read_stat(identity.pid)) identity.start_ticks = stat->start_ticks;
  return identity;
}

bool ProcessIdentity::alive() const {
  if (pid_namespace != own_pid_namespace()) return true;  // not ours to judge
  const auto stat = read_stat(pid);
  // Pids are used again: the start time says whether it is still the same process.
  return stat && stat->start_ticks == start_ticks && !is_gone(stat->state);
}

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> found{root};
  std::set<pid_t> seen{root};
  std::multimap<pid_t, pid_t> by_parent;
  if (!kernel_lists_children()) by_parent = children_by_parent();
  for (std::size_t next = 0; next < found.size(); ++next) {
    std::vector<pid_t> children;
    if (kernel_lists_children()) {
      children = listed_children(found[next]);
    } else {
      const auto [begin, end] = by_parent.equal_range(found[next]);
      for (auto child = begin; child != end; ++child) children.push_back(child->second);
    }
    for (const pid_t child : children)
      if (seen.insert(child).second) found.push_back(child);
  }
  found.erase(found.begin());
  std::erase_if(found, [](pid_t pid) {
    const auto stat = read_stat(pid);
    return !stat || is_gone(stat->state);
  });
  return found;
}

void kill_descendants(pid_t root) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::vector<pid_t> left = descendants_of(root);
  while (!left.empty() && std::chrono::steady_clock::now() < give_up) {
    // Stopped first, so that what forks faster than we read is outrun.
    for (const int signal : {SIGSTOP, SIGKILL})
      for (const pid_t pid : left) ::kill(pid, signal);
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    ::nanosleep(&pause, nullptr);
    left = descendants_of(root);
  }
}

char state_of_process(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? stat->state : '?';
}

std::chrono::nanoseconds cpu_time_of(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat) return {};
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds(stat->cpu_ticks * (1'000'000'000 / ticks_per_second));
}

std::vector<TaggedProcess> tagged_processes() {
  std::vector<TaggedProcess> found;
  const uid_t user = ::geteuid();
  for (const pid_t pid : numbered_entries("/proc")) {
    const std::string folder = "/proc/" + std::to_string(pid);
    struct stat info{};
    // Variables of other users cannot be read, and their processes are not ours to end.
    if (pid == ::getpid() || ::stat(folder.c_str(), &info) != 0 || info.st_uid != user) continue;
    const std::string environment = read_whole(folder + "/environ");
    std::string run_id = variable(environment, kRunIdVariable);
    if (run_id.empty()) continue;
    const auto stat = read_stat(pid);
    if (!stat || is_gone(stat->state)) continue;
    found.push_back({pid, std::move(run_id), variable(environment, kSupervisorVariable)});
  }
  return found;
}

std::vector<pid_t> processes_of_run(std::string_view run_id) {
  std::vector<pid_t> found;
  for (const auto& process : tagged_processes())
    if (process.run_id == run_id) found.push_back(process.pid);
  return found;
}

std::size_t kill_processes_of_run(std::string_view run_id, int rounds) {
  std::set<pid_t> killed;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<pid_t> found = processes_of_run(run_id);
    if (found.empty()) break;
    for (const pid_t pid : found) {
      ::kill(pid, SIGKILL);
      killed.insert(pid);
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};  // dying takes a moment
    ::nanosleep(&pause, nullptr);
  }
  return killed.size();
}

}  // namespace nocturne::measure
