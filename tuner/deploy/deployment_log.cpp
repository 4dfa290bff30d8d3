#include "tuner/deploy/deployment_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostBytesOfLog = 64 << 20;

/// Whatever wrote it: what is missing or of another kind makes it no line of ours.
std::optional<Deployment> deployment_of(const std::string& line) {
  const json document = json::parse(line, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  try {
    return Deployment{.time = document.at("time").get<std::string>(),
                      .host = document.at("host").get<std::string>(),
                      .profile = document.at("profile").get<std::string>(),
                      .trial = document.at("trial").get<std::int64_t>(),
                      .finding = document.at("finding").get<std::string>(),
                      .step_s = document.at("step_s").get<double>(),
                      .expected_s = document.at("expected_s").get<double>(),
                      .limit_s = document.at("limit_s").get<double>(),
                      .because = document.at("because").get<std::string>()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

json to_json(const Deployment& each) {
  return {
      {"time", each.time},       {"host", each.host},     {"profile", each.profile},       {"trial", each.trial},
      {"finding", each.finding}, {"step_s", each.step_s}, {"expected_s", each.expected_s}, {"limit_s", each.limit_s},
      {"because", each.because}};
}

std::expected<void, std::string> append_deployment(const fs::path& folder, const Deployment& deployment) {
  const auto because = [](const fs::path& path, int reason) {
    return std::unexpected(fmt::format("cannot write {}: {}", path.string(), std::strerror(reason)));
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return because(folder, error.value());
  const fs::path file = folder / (file_stem(deployment.host) + ".jsonl");
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return because(file, errno);
  // One write: two that append at the same time do not mix.
  const std::string line = to_json(deployment).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const ssize_t count = ::write(descriptor, line.data(), line.size());
  const int reason = count < 0 ? errno : ENOSPC;
  ::close(descriptor);
  if (count != static_cast<ssize_t>(line.size())) return because(file, reason);
  return {};
}

std::vector<Deployment> read_deployments(const fs::path& folder) {
  std::vector<Deployment> found;
  for (const fs::directory_entry& entry : space::entries_of(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::istringstream lines(space::read_file(entry.path(), kMostBytesOfLog).value_or(""));
    for (std::string line; std::getline(lines, line);)
      if (auto each = deployment_of(line)) found.push_back(*std::move(each));
  }
  std::ranges::stable_sort(found, {}, &Deployment::time);
  return found;
}

std::vector<Deployment> last_deployments(const std::vector<Deployment>& deployments, const std::string& profile) {
  std::map<std::string, Deployment> last;
  for (const Deployment& each : deployments)
    if (each.profile == profile) last[each.host] = each;
  std::vector<Deployment> found;
  for (auto& [host, each] : last) found.push_back(std::move(each));
  return found;
}

std::string host_here() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace nocturne::deploy
