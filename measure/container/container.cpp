#include "measure/container/container.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "measure/artifact/parallel.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {

std::vector<std::string> ContainerRuntime::import_command(const std::filesystem::path&, const std::string&) const {
  return {};
}
std::vector<std::string> ContainerRuntime::identify_command(const std::string&) const {
  return {};
}
std::string ContainerRuntime::form_obstacle(std::string_view) const {
  return {};
}
std::vector<std::string> ContainerRuntime::form_command(const std::filesystem::path&,
                                                        const std::filesystem::path&) const {
  return {};
}
std::vector<std::string> ContainerRuntime::list_command() const {
  return {};
}
std::vector<std::string> ContainerRuntime::remove_command(const std::string&) const {
  return {};
}

std::span<const ContainerRuntime* const> container_runtimes() {
  static const std::array<const ContainerRuntime*, 4> runtimes = {&charliecloud_runtime(), &apptainer_runtime(),
                                                                  &podman_runtime(), &docker_runtime()};
  return runtimes;
}

const ContainerRuntime* find_container_runtime(std::string_view name) {
  for (const ContainerRuntime* runtime : container_runtimes())
    if (runtime->name() == name) return runtime;
  return nullptr;
}

std::vector<std::string> available_containers() {
  const auto runtimes = container_runtimes();
  std::vector<std::string> obstacles(runtimes.size());
  for_each_in_parallel(runtimes.size(), static_cast<int>(runtimes.size()), [&](std::size_t i) {
    obstacles[i] = runtimes[i]->obstacle();
    return true;
  });
  std::vector<std::string> names = {"host"};
  for (std::size_t i = 0; i < runtimes.size(); ++i)
    if (obstacles[i].empty()) names.emplace_back(runtimes[i]->name());
  return names;
}

std::string container_name(const std::string& run_id) {
  return "nocturne-" + run_id;
}

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

std::vector<ContainerMount> least_mounts(std::vector<ContainerMount> mounts) {
  for (ContainerMount& mount : mounts) {
    mount.path = mount.path.lexically_normal();
    if (!mount.path.has_filename()) mount.path = mount.path.parent_path();
  }
  std::ranges::sort(mounts, {}, [](const ContainerMount& mount) { return mount.path; });
  std::vector<ContainerMount> kept;
  for (ContainerMount& mount : mounts) {
    if (!kept.empty() && kept.back().path == mount.path) {
      kept.back().writable = kept.back().writable || mount.writable;
      continue;
    }
    const bool covered = std::ranges::any_of(kept, [&](const ContainerMount& above) {
      return lies_in(mount.path, above.path) && (above.writable || !mount.writable);
    });
    if (!covered) kept.push_back(std::move(mount));
  }
  return kept;
}

std::optional<std::string> problem_of(const ContainerOrder& order, std::string_view separators) {
  if (order.argv.empty() || order.argv.front().empty()) return "no command was given";
  const auto bad = [&](const std::filesystem::path& path) {
    const std::string text = path.string();
    return !path.is_absolute() || text.find_first_of(separators) != std::string::npos ||
           std::ranges::any_of(text, [](unsigned char letter) { return letter < 0x20; });
  };
  for (const ContainerMount& mount : order.mounts) {
    if (!bad(mount.path)) continue;
    return fmt::format("the path '{}' cannot be mounted into a container: it is not absolute, or holds one of {}",
                       mount.path.string(), separators);
  }
  if (bad(order.folder)) return fmt::format("'{}' cannot be a container's working directory", order.folder.string());
  for (const auto& [name, value] : order.variables)
    if (name.empty() || name.find('=') != std::string::npos) return fmt::format("'{}' is no name of a variable", name);
  return std::nullopt;
}

std::vector<std::string> ownerless(std::string_view lines) {
  std::vector<std::string> ids;
  std::istringstream stream{std::string(lines)};
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string id, owner;
    if (!(words >> id >> owner)) continue;
    const auto process = ProcessIdentity::from_text(owner);
    if (process && !process->alive()) ids.push_back(id);
  }
  return ids;
}

std::size_t sweep_containers(std::span<const ContainerRuntime* const> runtimes) {
  std::size_t removed = 0;
  for (const ContainerRuntime* runtime : runtimes) {
    const auto list = runtime->list_command();
    if (list.empty() || !find_tool(list.front())) continue;
    const auto lines = ask_tool(list, std::chrono::seconds(20));
    if (!lines) continue;
    for (const std::string& id : ownerless(*lines))
      if (ask_tool(runtime->remove_command(id), std::chrono::seconds(30))) ++removed;
  }
  return removed;
}

}  // namespace nocturne::measure
