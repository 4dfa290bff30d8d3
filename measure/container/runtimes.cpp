#include "measure/container/runtimes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>

#include "measure/artifact/process.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {

// Looking for a runtime's programs and asking them.

std::optional<std::filesystem::path> find_tool(std::string_view name) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable != nullptr ? variable : "/usr/sbin:/usr/bin:/sbin:/bin";
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    std::filesystem::path candidate = std::filesystem::path(folders.substr(0, end)) / name;
    std::error_code ignored;
    if (candidate.is_absolute() && std::filesystem::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return std::nullopt;
}

std::expected<std::string, std::string> ask_tool(const std::vector<std::string>& argv, std::chrono::seconds patience) {
  const auto program = find_tool(argv.front());
  if (!program) return std::unexpected(argv.front() + " is not installed");
  std::vector<std::string> words = argv;
  words.front() = program->string();
  auto said = command_output({.argv = std::move(words)}, std::chrono::steady_clock::now() + patience);
  std::string text = said ? std::move(*said) : std::move(said.error());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (said) return text;
  const std::size_t line = text.rfind('\n');
  return std::unexpected(line == std::string::npos ? text : text.substr(line + 1));
}

// What docker and podman are told in the same words.

std::string cpu_list_of(const std::vector<int>& cpus) {
  return fmt::format("{}", fmt::join(cpus, ","));
}

bool is_on_loopback(std::string_view reference) {
  return reference.starts_with("127.") || reference.starts_with("localhost:") || reference.starts_with("[::1]:");
}

OciArguments oci_arguments(const ContainerImage& image, const ContainerOrder& order) {
  OciArguments result;
  auto& words = result.options;
  words = {"--rm", "--pull", "never", "--network", "none", "--name", container_name(order.run_id), "--label",
           fmt::format("{}={}", kOwnerLabel, order.owner), "--workdir", order.folder.string(),
           // Loaders of data share memory; the usual 64 MB end them with a bus error.
           "--shm-size", "1g"};
  for (const ContainerMount& mount : least_mounts(order.mounts)) {
    const std::string path = mount.path.string();
    words.insert(words.end(), {"--mount", fmt::format("type=bind,source={0},target={0}{1}", path,
                                                      mount.writable ? "" : ",readonly")});
  }
  // By name alone: the client's own value, which the supervisor sets. By these the container's processes are found.
  for (const char* name : {kRunIdVariable, kSupervisorVariable}) words.insert(words.end(), {"--env", name});
  for (const auto& [name, value] : order.variables) words.insert(words.end(), {"--env", name + '=' + value});
  // An image's own entry point would come before the worker.
  words.insert(words.end(), {"--entrypoint", order.argv.front()});
  result.image_and_command = {image.reference};
  result.image_and_command.insert(result.image_and_command.end(), order.argv.begin() + 1, order.argv.end());
  return result;
}

}  // namespace nocturne::measure
