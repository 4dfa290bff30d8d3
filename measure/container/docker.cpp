// Docker: an image in the engine's storage; the engine starts the worker, so it is no descendant, and neither affinity
// nor control group nor signals reach it from here. It gets CPUs and memory by option, and the run id by its
// environment: with that the supervisor stops, counts and kills it. The engine removes what ended (--rm).
//
// Its traps: the container's first process hears SIGTERM only if it asks to; files it writes belong to root unless the
// user is named; two levels of quoting in --mount.

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"

namespace nocturne::measure {
namespace {

class Docker final : public ContainerRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "docker"; }
  [[nodiscard]] std::string_view package() const override { return "docker.io"; }
  [[nodiscard]] bool keeps_images() const override { return true; }

  [[nodiscard]] std::string obstacle() const override {
    if (!find_tool("docker")) return "docker is not installed: apt-get install docker.io";
    if (const auto said = ask_engine(); !said) {
      return fmt::format("its engine does not answer ({}): start dockerd, or name its socket in DOCKER_HOST",
                         said.error());
    }
    return {};
  }

  [[nodiscard]] std::string version() const override { return ask_engine().value_or(""); }

  [[nodiscard]] std::expected<ContainerCommand, std::string> command(const ContainerImage& image,
                                                                     const ContainerOrder& order) const override {
    if (auto problem = problem_of(order, ",\"")) return std::unexpected(std::move(*problem));
    if (image.reference.empty()) return std::unexpected("docker needs the image in its engine's storage");
    if (order.memory.is_set() && order.memory.mode != "local")
      return std::unexpected("memory_policy does not reach a container that docker's engine starts: local alone");
    ContainerCommand command;
    command.apart = true;
    command.clean_up = remove_command(container_name(order.run_id));
    OciArguments arguments = oci_arguments(image, order);
    auto& words = command.argv;
    words = {"docker", "run"};
    words.insert(words.end(), arguments.options.begin(), arguments.options.end());
    if (order.uid != 0) words.insert(words.end(), {"--user", fmt::format("{}:{}", order.uid, order.gid)});
    if (!order.cpus.empty()) words.insert(words.end(), {"--cpuset-cpus", cpu_list_of(order.cpus)});
    if (order.memory_limit_bytes > 0)
      words.insert(words.end(), {"--memory", fmt::format("{}b", order.memory_limit_bytes)});
    if (order.gpu) words.insert(words.end(), {"--gpus", "all"});
    words.insert(words.end(), arguments.image_and_command.begin(), arguments.image_and_command.end());
    return command;
  }

  [[nodiscard]] std::expected<ImageSteps, std::string> acquire(const ImageRecipe& recipe, const std::filesystem::path&,
                                                               const std::string& tag) const override {
    if (recipe.kind == ImageKind::Reference)  // of a registry on the loopback address it asks no TLS by itself
      return ImageSteps{{"docker", "pull", "--quiet", recipe.reference}, {"docker", "tag", recipe.reference, tag}};
    if (recipe.kind == ImageKind::File && recipe.file.extension() != ".def") {
      return ImageSteps{{"docker", "build", "--quiet", "--tag", tag, "--file", recipe.file.string(),
                         recipe.file.parent_path().string()}};
    }
    return std::unexpected(
        fmt::format("docker builds images from a Dockerfile, not from {}", recipe.file.filename().string()));
  }

  [[nodiscard]] std::vector<std::string> import_command(const std::filesystem::path& tarball,
                                                        const std::string& tag) const override {
    return {"docker", "import", tarball.string(), tag};
  }
  [[nodiscard]] std::vector<std::string> identify_command(const std::string& image) const override {
    return {"docker", "image", "inspect", "--format", "{{.Id}}", image};
  }
  [[nodiscard]] std::vector<std::string> list_command() const override {
    return {"docker",
            "ps",
            "--all",
            "--filter",
            fmt::format("label={}", kOwnerLabel),
            "--format",
            fmt::format("{{{{.ID}}}} {{{{.Label \"{}\"}}}}", kOwnerLabel)};
  }
  [[nodiscard]] std::vector<std::string> remove_command(const std::string& container) const override {
    return {"docker", "rm", "--force", container};
  }

 private:
  static std::expected<std::string, std::string> ask_engine() {
    return ask_tool({"docker", "version", "--format", "{{.Server.Version}}"}, std::chrono::seconds(5));
  }
};

}  // namespace

const ContainerRuntime& docker_runtime() {
  static const Docker runtime;
  return runtime;
}

}  // namespace nocturne::measure
