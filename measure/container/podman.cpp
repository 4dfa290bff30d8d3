// Podman: an image in its own storage; conmon, which survives its client, is a descendant of the supervisor, the worker
// one of conmon's, but in a control group of its own.
//
// Its traps: crun refuses machines with both versions of cgroups, where runc works; without systemd it must manage
// control groups itself; its default limits of files and processes cannot be set by a root that may not raise limits;
// without root CPUs and memory may not be delegated, and affinity (inherited) and polling do their work; in a chroot,
// whose "/" is no mount, it cannot make that one its own to unpack an image.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"

namespace nocturne::measure {
namespace {

constexpr int kCapSysResource = 24;
// More than any trainer starts, and less than what a runtime without the right to raise limits was seen to accept.
constexpr std::uint64_t kProcesses = 16384;

bool has_capability(int number) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "CapEff:") continue;
    std::uint64_t mask = 0;
    status >> std::hex >> mask;
    return (mask >> number & 1) != 0;
  }
  return false;
}

std::vector<std::string> podman_words(const PodmanHost& host, std::initializer_list<std::string> rest) {
  std::vector<std::string> words = {"podman"};
  for (std::string& option : podman_global_options(host)) words.push_back(std::move(option));
  words.insert(words.end(), rest);
  return words;
}

const PodmanHost& this_podman_host() {
  static const PodmanHost host = probe_podman_host();
  return host;
}

class Podman final : public ContainerRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "podman"; }
  [[nodiscard]] std::string_view package() const override { return "podman"; }
  [[nodiscard]] bool keeps_images() const override { return true; }

  [[nodiscard]] std::string obstacle() const override {
    if (!find_tool("podman")) return "podman is not installed: apt-get install podman";
    const PodmanHost& host = this_podman_host();
    if (std::string obstacle = podman_obstacle(host); !obstacle.empty()) return obstacle;
    // It opens the storage and the runtime as a run does; `info` asks the network's programs beside, ten times as long.
    const auto said = ask_tool(podman_words(host, {"ps", "--quiet"}), std::chrono::seconds(20));
    return said ? std::string() : "podman cannot be used: " + said.error();
  }

  [[nodiscard]] std::string version() const override {
    const std::string said = ask_tool({"podman", "--version"}, std::chrono::seconds(5)).value_or("");
    return said.substr(said.rfind(' ') + 1);  // "podman version 4.3.1"
  }

  [[nodiscard]] std::expected<ContainerCommand, std::string> command(const ContainerImage& image,
                                                                     const ContainerOrder& order) const override {
    return podman_command(image, order, this_podman_host());
  }

  [[nodiscard]] std::expected<ImageSteps, std::string> acquire(const ImageRecipe& recipe, const std::filesystem::path&,
                                                               const std::string& tag) const override {
    const PodmanHost& host = this_podman_host();
    if (recipe.kind == ImageKind::Reference) {
      auto pull = podman_words(host, {"pull", "--quiet"});
      if (is_on_loopback(recipe.reference)) pull.emplace_back("--tls-verify=false");
      pull.push_back(recipe.reference);
      return ImageSteps{std::move(pull), podman_words(host, {"tag", recipe.reference, tag})};
    }
    if (recipe.kind == ImageKind::File && recipe.file.extension() != ".def") {
      return ImageSteps{podman_words(
          host, {"build", "--tag", tag, "--file", recipe.file.string(), recipe.file.parent_path().string()})};
    }
    return std::unexpected(
        fmt::format("podman builds images from a Dockerfile, not from {}", recipe.file.filename().string()));
  }

  [[nodiscard]] std::vector<std::string> import_command(const std::filesystem::path& tarball,
                                                        const std::string& tag) const override {
    return podman_words(this_podman_host(), {"import", "--quiet", tarball.string(), tag});
  }
  [[nodiscard]] std::vector<std::string> identify_command(const std::string& image) const override {
    return podman_words(this_podman_host(), {"image", "inspect", "--format", "{{.Id}}", image});
  }
  [[nodiscard]] std::vector<std::string> list_command() const override {
    return podman_words(this_podman_host(),
                        {"ps", "--all", "--filter", fmt::format("label={}", kOwnerLabel), "--format",
                         fmt::format("{{{{.ID}}}} {{{{index .Labels \"{}\"}}}}", kOwnerLabel)});
  }
  [[nodiscard]] std::vector<std::string> remove_command(const std::string& container) const override {
    return podman_words(this_podman_host(), {"rm", "--force", "--ignore", "--time", "0", container});
  }
};

}  // namespace

PodmanHost probe_podman_host() {
  PodmanHost host;
  std::error_code ignored;
  host.mixed_cgroups = std::filesystem::exists("/sys/fs/cgroup/unified", ignored) ||
                       std::filesystem::exists("/sys/fs/cgroup/systemd", ignored);
  host.has_runc = find_tool("runc").has_value();
  host.systemd = std::filesystem::exists("/run/systemd/system", ignored);
  host.root = ::geteuid() == 0;
  host.limits_are_fixed = host.root && !has_capability(kCapSysResource);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) host.most_files = files.rlim_max;
  struct statx top{};
  if (::statx(AT_FDCWD, "/", 0, 0, &top) == 0 && (top.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    host.in_chroot = (top.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
  return host;
}

std::string podman_obstacle(const PodmanHost& host) {
  if (host.mixed_cgroups && !host.has_runc)
    return "this machine mixes both versions of cgroups, which crun refuses: apt-get install runc";
  if (host.in_chroot) return "it cannot unpack images in a chroot: enter that folder with pivot_root instead";
  return {};
}

std::vector<std::string> podman_global_options(const PodmanHost& host) {
  std::vector<std::string> words;
  if (host.mixed_cgroups && host.has_runc) words.insert(words.end(), {"--runtime", "runc"});
  if (!host.systemd) words.insert(words.end(), {"--cgroup-manager", "cgroupfs"});
  return words;
}

std::expected<ContainerCommand, std::string> podman_command(const ContainerImage& image, const ContainerOrder& order,
                                                            const PodmanHost& host) {
  if (auto problem = problem_of(order, ",\"")) return std::unexpected(std::move(*problem));
  if (image.reference.empty()) return std::unexpected("podman needs the image in its storage");
  ContainerCommand command;
  command.apart = true;
  command.clean_up = podman_words(host, {"rm", "--force", "--ignore", "--time", "0", container_name(order.run_id)});
  OciArguments arguments = oci_arguments(image, order);
  auto& words = command.argv;
  words = podman_words(host, {"run", "--log-driver", "none"});
  words.insert(words.end(), arguments.options.begin(), arguments.options.end());
  if (host.root && !order.cpus.empty()) words.insert(words.end(), {"--cpuset-cpus", cpu_list_of(order.cpus)});
  if (host.root && order.memory_limit_bytes > 0)
    words.insert(words.end(), {"--memory", fmt::format("{}b", order.memory_limit_bytes)});
  if (host.limits_are_fixed) {
    words.insert(words.end(), {"--ulimit", fmt::format("nofile={0}:{0}", host.most_files), "--ulimit",
                               fmt::format("nproc={0}:{0}", kProcesses)});
  }
  if (order.gpu) words.insert(words.end(), {"--device", "nvidia.com/gpu=all"});
  words.insert(words.end(), arguments.image_and_command.begin(), arguments.image_and_command.end());
  return command;
}

const ContainerRuntime& podman_runtime() {
  static const Podman runtime;
  return runtime;
}

}  // namespace nocturne::measure
