#include "measure/container/container_sweep.hpp"

#include <sstream>

#include "measure/container/runtimes.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {

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
    for (const std::string& id : ownerless(*lines)) {
      if (ask_tool(runtime->remove_command(id), std::chrono::seconds(30))) ++removed;
    }
  }
  return removed;
}

}  // namespace nocturne::measure
