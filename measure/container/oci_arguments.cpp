// What docker and podman are told in the same words.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/container/runtimes.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {

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
