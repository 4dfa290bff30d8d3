// Apptainer, also under its old name Singularity: a root file system's folder as a sandbox; no daemon. The worker is a
// descendant and inherits affinity and control group.
//
// Its traps: options that take lists split values at commas, so variables travel as APPTAINERENV_NAME; it mounts the
// home and the current folder unless told not to; it shares the network and /tmp.

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"

namespace nocturne::measure {
namespace {

constexpr std::string_view kByFuse = "sif-fuse";
constexpr ImageForm kApptainerForms[] = {
    {"sif", "sif", "one compressed file, mounted by the kernel: for root, or with the setuid starter"},
    {kByFuse, "sif", "the same file in a user namespace, mounted by squashfuse"}};

/// The kernel mounts a SIF for root, and for others by the starter that is setuid.
bool kernel_may_mount() {
  if (::geteuid() == 0) return true;
  const std::string said =
      ask_tool({"apptainer", "buildcfg", "LIBEXECDIR"}, std::chrono::seconds(5)).value_or("LIBEXECDIR=");
  struct stat starter{};
  const std::string path = said.substr(said.find('=') + 1) + "/apptainer/bin/starter-suid";
  return ::stat(path.c_str(), &starter) == 0 && (starter.st_mode & S_ISUID) != 0;
}

class Apptainer final : public ContainerRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "apptainer"; }
  [[nodiscard]] std::string_view package() const override { return "apptainer"; }
  [[nodiscard]] bool keeps_images() const override { return false; }

  [[nodiscard]] std::string obstacle() const override {
    if (!find_tool("apptainer")) {
      return "apptainer is not installed: apt-get install apptainer (Debian 13 or later; packages of the project "
             "itself elsewhere)";
    }
    if (const auto said = ask_tool({"apptainer", "--version"}, std::chrono::seconds(5)); !said) return said.error();
    return {};
  }

  [[nodiscard]] std::string version() const override {
    const std::string said = ask_tool({"apptainer", "--version"}, std::chrono::seconds(5)).value_or("");
    return said.substr(said.rfind(' ') + 1);  // "apptainer version 1.4.5"
  }

  [[nodiscard]] std::span<const ImageForm> forms() const override { return kApptainerForms; }

  [[nodiscard]] std::string form_obstacle(std::string_view form) const override {
    if (!find_tool("mksquashfs")) return "mksquashfs is not installed: apt-get install squashfs-tools";
    if (form == kByFuse)
      return find_tool("squashfuse") ? "" : "squashfuse is not installed: apt-get install squashfuse";
    return kernel_may_mount() ? "" : "it has no setuid starter here, so that a SIF is mounted by squashfuse: sif-fuse";
  }

  [[nodiscard]] std::vector<std::string> form_command(const std::filesystem::path& root,
                                                      const std::filesystem::path& file) const override {
    return {"apptainer", "--silent", "build", "--force", file.string(), root.string()};
  }

  [[nodiscard]] std::expected<ContainerCommand, std::string> command(const ContainerImage& image,
                                                                     const ContainerOrder& order) const override {
    if (auto problem = problem_of(order, ":,")) return std::unexpected(std::move(*problem));
    if (image.root.empty()) return std::unexpected("apptainer needs the image as a folder");
    ContainerCommand command;
    for (const auto& [name, value] : order.variables) command.variables["APPTAINERENV_" + name] = value;
    auto& words = command.argv;
    words = {"apptainer", "--silent", "exec", "--no-home", "--no-mount", "home,cwd", "--pwd", order.folder.string()};
    if (order.gpu) words.emplace_back("--nv");
    if (image.form == kByFuse) words.emplace_back("--userns");
    for (const ContainerMount& mount : least_mounts(order.mounts)) {
      words.insert(words.end(),
                   {"--bind", fmt::format("{0}:{0}:{1}", mount.path.string(), mount.writable ? "rw" : "ro")});
    }
    words.push_back((image.file.empty() ? image.root : image.file).string());
    words.insert(words.end(), order.argv.begin(), order.argv.end());
    return command;
  }

  [[nodiscard]] std::expected<ImageSteps, std::string> acquire(const ImageRecipe& recipe,
                                                               const std::filesystem::path& folder,
                                                               const std::string&) const override {
    std::vector<std::string> build = {"apptainer", "build", "--sandbox"};
    const std::string root = (folder / "root").string();
    if (recipe.kind == ImageKind::Reference) {
      if (is_on_loopback(recipe.reference)) build.emplace_back("--no-https");
      build.insert(build.end(), {root, "docker://" + recipe.reference});
    } else if (recipe.kind == ImageKind::File && recipe.file.extension() == ".def") {
      build.insert(build.end(), {root, recipe.file.string()});
    } else {
      return std::unexpected(fmt::format("apptainer builds images from a definition file (*.def), not from {}",
                                         recipe.file.filename().string()));
    }
    return ImageSteps{std::move(build)};
  }
};

}  // namespace

const ContainerRuntime& apptainer_runtime() {
  static const Apptainer runtime;
  return runtime;
}

}  // namespace nocturne::measure
