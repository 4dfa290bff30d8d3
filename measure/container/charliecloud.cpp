// Charliecloud: a root file system's folder in a user namespace; no daemon, no rights. ch-run becomes the worker, so
// affinity, control group, signals and the run id reach it as they do on the host.
//
// Its traps: it wants $USER; it mounts read-only images, so that mount points must exist; it has no read-only mounts;
// it shares the network and, at /tmp, the host's own folder (TMPDIR would change which).

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"

namespace nocturne::measure {
namespace {

constexpr ImageForm kCharliecloudForms[] = {
    {"squashfs", "sqfs", "one compressed file, mounted by ch-run itself through squashfuse"}};

constexpr const char* kPathInside = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Whether this user may make user namespaces: tried, for kernels and distributions forbid it in different ways.
bool user_namespaces_work() {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Charliecloud final : public ContainerRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "charliecloud"; }
  [[nodiscard]] std::string_view package() const override { return "charliecloud"; }
  [[nodiscard]] bool keeps_images() const override { return false; }
  [[nodiscard]] bool makes_mount_points() const override { return false; }
  [[nodiscard]] std::string_view shared_folder() const override { return "/tmp"; }

  [[nodiscard]] std::string obstacle() const override {
    if (!find_tool("ch-run")) return "ch-run is not installed: apt-get install charliecloud";
    if (!user_namespaces_work()) {
      return "this user may not make user namespaces: sysctl kernel.unprivileged_userns_clone=1, or ask who "
             "administers the machine";
    }
    return {};
  }

  [[nodiscard]] std::string version() const override {
    return ask_tool({"env", "USER=nobody", "ch-run", "--version"}, std::chrono::seconds(5)).value_or("");
  }

  [[nodiscard]] std::span<const ImageForm> forms() const override { return kCharliecloudForms; }

  [[nodiscard]] std::string form_obstacle(std::string_view) const override {
    if (!find_tool("mksquashfs")) return "mksquashfs is not installed: apt-get install squashfs-tools";
    // Its list of features does not name it; its help has an option for it.
    const auto help = ask_tool({"env", "USER=nobody", "ch-run", "--help"}, std::chrono::seconds(5));
    if (!help || !help->contains("SquashFS")) return "this ch-run was built without squashfuse";
    return {};
  }

  [[nodiscard]] std::vector<std::string> form_command(const std::filesystem::path& root,
                                                      const std::filesystem::path& file) const override {
    return {"mksquashfs", root.string(), file.string(), "-noappend", "-no-progress", "-quiet"};
  }

  [[nodiscard]] std::expected<ContainerCommand, std::string> command(const ContainerImage& image,
                                                                     const ContainerOrder& order) const override {
    if (auto problem = problem_of(order, ":")) return std::unexpected(std::move(*problem));
    if (image.root.empty()) return std::unexpected("charliecloud needs the image as a folder");
    if (order.gpu) {
      return std::unexpected(
          "charliecloud passes a GPU through only into an image that was prepared with ch-fromhost --nvidia: use "
          "apptainer, podman or docker");
    }
    ContainerCommand command;
    command.variables["USER"] = order.user;
    auto& words = command.argv;
    words = {"ch-run", "--env-no-expand", fmt::format("--set-env=PATH={}", kPathInside)};
    for (const auto& [name, value] : order.variables) words.push_back(fmt::format("--set-env={}={}", name, value));
    for (const ContainerMount& mount : least_mounts(order.mounts))
      if (!lies_in(mount.path, shared_folder())) words.push_back("--bind=" + mount.path.string());
    words.push_back("--cd=" + order.folder.string());
    words.insert(words.end(), {(image.file.empty() ? image.root : image.file).string(), "--"});
    words.insert(words.end(), order.argv.begin(), order.argv.end());
    return command;
  }

  // ch-image is a script of Debian's own python3: another one that comes first on PATH lacks its modules.
  [[nodiscard]] std::expected<ImageSteps, std::string> acquire(const ImageRecipe& recipe,
                                                               const std::filesystem::path& folder,
                                                               const std::string& tag) const override {
    const std::string storage = (folder / "storage").string();
    std::vector<std::string> start = {"env"};
    const bool unverified = is_on_loopback(recipe.reference);
    // With one of these in its environment it verifies all the same.
    if (unverified) start.insert(start.end(), {"-u", "REQUESTS_CA_BUNDLE", "-u", "CURL_CA_BUNDLE"});
    start.insert(start.end(), {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "USER=nobody", "CH_IMAGE_STORAGE=" + storage});
    std::vector<std::string> make = start;
    make.emplace_back("ch-image");
    if (unverified) make.emplace_back("--tls-no-verify");
    if (recipe.kind == ImageKind::Reference) {
      make.insert(make.end(), {"pull", recipe.reference, tag});
    } else if (recipe.kind == ImageKind::File && recipe.file.extension() != ".def") {
      make.insert(make.end(), {"build", "--force", "--tag", tag, "--file", recipe.file.string(),
                               recipe.file.parent_path().string()});
    } else {
      return std::unexpected(
          fmt::format("charliecloud builds images from a Dockerfile, not from {}", recipe.file.filename().string()));
    }
    std::vector<std::string> unpack = start;
    unpack.insert(unpack.end(),
                  {"ch-convert", "--in-fmt", "ch-image", "--out-fmt", "dir", tag, (folder / "root").string()});
    return ImageSteps{std::move(make), std::move(unpack), {"rm", "-rf", "--", storage}};
  }
};

}  // namespace

const ContainerRuntime& charliecloud_runtime() {
  static const Charliecloud runtime;
  return runtime;
}

}  // namespace nocturne::measure
