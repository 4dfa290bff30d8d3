#pragma once

/// The runtimes themselves, seen by container.cpp and the tests alone; and how a program is found and asked.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/container.hpp"

namespace nocturne::measure {

[[nodiscard]] const ContainerRuntime& charliecloud_runtime();
[[nodiscard]] const ContainerRuntime& apptainer_runtime();
[[nodiscard]] const ContainerRuntime& podman_runtime();
[[nodiscard]] const ContainerRuntime& docker_runtime();

/// What decides which options Podman needs on this machine.
struct PodmanHost {
  bool mixed_cgroups = false;     ///< versions 1 and 2 side by side: crun refuses them
  bool has_runc = false;          ///< runc is installed
  bool systemd = true;            ///< runs, so that it can manage control groups
  bool limits_are_fixed = false;  ///< root without CAP_SYS_RESOURCE: Podman's own default limits cannot be set
  std::uint64_t most_files = 0;   ///< hard limit of open files
  bool root = true;  ///< else CPUs and memory are left to affinity and the supervisor: cgroups may not be delegated
  bool in_chroot = false;  ///< "/" is no mount: layers of images cannot be unpacked
};
[[nodiscard]] PodmanHost probe_podman_host();
/// Why Podman cannot work on such a machine, a sentence; empty: nothing is known against it.
[[nodiscard]] std::string podman_obstacle(const PodmanHost& host);
/// Options before the subcommand.
[[nodiscard]] std::vector<std::string> podman_global_options(const PodmanHost& host);
[[nodiscard]] std::expected<ContainerCommand, std::string> podman_command(const ContainerImage& image,
                                                                          const ContainerOrder& order,
                                                                          const PodmanHost& host);

/// `--rm --name … --mount … IMAGE ARGUMENTS…`: what docker and podman understand alike, in two parts, so that options
/// of one of them go between.
struct OciArguments {
  std::vector<std::string> options;
  std::vector<std::string> image_and_command;
};
[[nodiscard]] OciArguments oci_arguments(const ContainerImage& image, const ContainerOrder& order);

/// "0,2,3"
[[nodiscard]] std::string cpu_list_of(const std::vector<int>& cpus);
/// An image reference whose registry is this machine itself: it needs no TLS.
[[nodiscard]] bool is_on_loopback(std::string_view reference);

/// On PATH and executable.
[[nodiscard]] std::optional<std::filesystem::path> find_tool(std::string_view name);
/// What a program prints, its last line end cut off; the error is its last line, or why it could not be started.
[[nodiscard]] std::expected<std::string, std::string> ask_tool(const std::vector<std::string>& argv,
                                                               std::chrono::seconds patience);

}  // namespace nocturne::measure
