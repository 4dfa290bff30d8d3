#include "measure/supervisor/control.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace nocturne::measure {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

template <typename T>
void put(json& document, const char* key, const std::optional<T>& value) {
  if (value) document[key] = *value;
}

template <typename T>
void take(const json& document, const char* key, T& out) {
  if (const auto found = document.find(key); found != document.end()) found->get_to(out);
}

template <typename T>
void take(const json& document, const char* key, std::optional<T>& out) {
  if (const auto found = document.find(key); found != document.end()) out = found->get<T>();
}

json load_to_json(const space::Load& load) {
  json document = json::object();
  put(document, "loadavg_before", load.loadavg_before);
  put(document, "loadavg_after", load.loadavg_after);
  put(document, "cpu_pressure", load.cpu_pressure);
  put(document, "memory_pressure", load.memory_pressure);
  put(document, "io_pressure", load.io_pressure);
  put(document, "steal", load.steal);
  put(document, "other_cpu", load.other_cpu);
  return document;
}

space::Load load_from_json(const json& document) {
  space::Load load;
  take(document, "loadavg_before", load.loadavg_before);
  take(document, "loadavg_after", load.loadavg_after);
  take(document, "cpu_pressure", load.cpu_pressure);
  take(document, "memory_pressure", load.memory_pressure);
  take(document, "io_pressure", load.io_pressure);
  take(document, "steal", load.steal);
  take(document, "other_cpu", load.other_cpu);
  return load;
}

}  // namespace

json to_json(const SuperviseSpec& spec) {
  json document = {{"run_id", spec.run_id},
                   {"folder", spec.folder},
                   {"argv", spec.argv},
                   {"environment", spec.environment},
                   {"unset", spec.unset},
                   {"cpus", spec.cpus},
                   {"deadline_ms", spec.deadline.count()},
                   {"grace_ms", spec.grace.count()},
                   {"apart", spec.apart},
                   {"clean_up", spec.clean_up},
                   {"use_cgroup", spec.use_cgroup},
                   {"log_cap_bytes", spec.log_cap_bytes},
                   {"proc", spec.proc}};
  if (spec.total_limit) document["total_limit_ms"] = spec.total_limit->count();
  put(document, "memory_limit_bytes", spec.memory_limit_bytes);
  if (spec.memory.is_set()) document["memory_policy"] = {{"mode", spec.memory.mode}, {"nodes", spec.memory.nodes}};
  return document;
}

SuperviseSpec spec_from_json(const json& document) {
  SuperviseSpec spec;
  take(document, "run_id", spec.run_id);
  take(document, "folder", spec.folder);
  take(document, "argv", spec.argv);
  take(document, "environment", spec.environment);
  take(document, "unset", spec.unset);
  take(document, "cpus", spec.cpus);
  if (const auto memory = document.find("memory_policy"); memory != document.end()) {
    take(*memory, "mode", spec.memory.mode);
    take(*memory, "nodes", spec.memory.nodes);
  }
  spec.deadline = milliseconds(document.at("deadline_ms").get<std::int64_t>());
  spec.grace = milliseconds(document.at("grace_ms").get<std::int64_t>());
  if (document.contains("total_limit_ms"))
    spec.total_limit = milliseconds(document["total_limit_ms"].get<std::int64_t>());
  take(document, "memory_limit_bytes", spec.memory_limit_bytes);
  take(document, "apart", spec.apart);
  take(document, "clean_up", spec.clean_up);
  take(document, "use_cgroup", spec.use_cgroup);
  take(document, "log_cap_bytes", spec.log_cap_bytes);
  take(document, "proc", spec.proc);
  return spec;
}

json to_json(const SuperviseResult& result) {
  json document = {{"started_unix_ns", result.started_unix_ns},
                   {"wall_ns", result.wall.count()},
                   {"cpu_ns", result.cpu.count()},
                   {"peak_bytes", result.peak_bytes},
                   {"peak_source", result.peak_source},
                   {"timed_out", result.timed_out},
                   {"killed", result.killed},
                   {"killed_reason", result.killed_reason},
                   {"limited_by", result.limited_by},
                   {"log_bytes", result.log_bytes},
                   {"survivors", result.survivors},
                   {"descendants_killed", result.descendants_killed},
                   {"load", load_to_json(result.load)}};
  put(document, "start_error", result.start_error);
  put(document, "exit_code", result.exit_code);
  put(document, "signal", result.signal);
  put(document, "memory_evidence", result.memory_evidence);
  return document;
}

SuperviseResult result_from_json(const json& document) {
  SuperviseResult result;
  take(document, "started_unix_ns", result.started_unix_ns);
  result.wall = nanoseconds(document.at("wall_ns").get<std::int64_t>());
  result.cpu = nanoseconds(document.at("cpu_ns").get<std::int64_t>());
  take(document, "peak_bytes", result.peak_bytes);
  take(document, "peak_source", result.peak_source);
  take(document, "timed_out", result.timed_out);
  take(document, "killed", result.killed);
  take(document, "killed_reason", result.killed_reason);
  take(document, "limited_by", result.limited_by);
  take(document, "log_bytes", result.log_bytes);
  take(document, "survivors", result.survivors);
  take(document, "descendants_killed", result.descendants_killed);
  take(document, "start_error", result.start_error);
  take(document, "exit_code", result.exit_code);
  take(document, "signal", result.signal);
  take(document, "memory_evidence", result.memory_evidence);
  result.load = load_from_json(document.at("load"));
  return result;
}

std::optional<std::string> LineBuffer::next() {
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

bool send_line(int socket, const json& document) {
  const std::string line = document.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::send(socket, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace nocturne::measure
