#include "tuner/request/build_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/deploy/image_contents.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/request/job_script.hpp"

namespace nocturne::tuner {
namespace {

using deploy::shell_quote;
using Json = nlohmann::json;

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

/// "https://x.org/a/code.git" → "code".
std::string folder_of(const std::string& address) {
  std::string name = address.substr(address.find_last_of("/:") + 1);
  return name.substr(0, name.size() - std::string_view(".git").size());
}

/// Lines that get the source, and then are where it lies.
std::string source_lines(const std::string& source) {
  if (source.empty()) return {};
  if (!source.ends_with(".git"))
    return fmt::format("curl --fail --location --remote-name --url {}\n", shell_quote(source));
  const std::string folder = folder_of(source);
  return fmt::format("[ -e {0} ] || git clone --recursive -- {1} {0}\ncd -- {0}\n",
                     shell_quote("./" + (folder.empty() ? "source" : folder)), shell_quote(source));
}

std::string build_command(const Json& build) {
  return replaced(build.value("build_command", ""), "{{BUILD_PARALLELISM}}",
                  std::to_string(build.value("build_parallelism", 1)));
}

/// Lines that fetch the image or make the environment.
std::string provision_lines(const Deployment& deployment) {
  if (deployment.profile) return {};
  const bool on_hub = deployment.container.contains("://");
  const std::string& runtime = deployment.runtime;
  const std::string name = without_hub(deployment.container);
  if (on_hub && (runtime == "podman" || runtime == "docker"))
    return fmt::format("{} pull {}\n", runtime, shell_quote(name));
  if (on_hub && runtime == "charliecloud") return fmt::format("ch-image pull {}\n", shell_quote(name));
  if (on_hub && runtime == "shifter") return fmt::format("shifterimg pull docker:{}\n", shell_quote(name));
  if (on_hub) {
    const std::string tool = runtime.empty() ? "\"$(command -v apptainer || command -v singularity)\"" : runtime;
    const std::string file = shell_quote(singularity_file(deployment.container));
    return fmt::format("file=\"${{IMAGES:-$PWD}}\"/{}\n[ -e \"$file\" ] || {} pull \"$file\" {}\n", file, tool,
                       shell_quote(deployment.container));
  }
  if (!deployment.offer || !deployment.container.empty()) return {};
  if (!deployment.offer->packages.empty())
    return fmt::format("python3 -m venv environment\nenvironment/bin/python -m pip install {}\n",
                       deploy::shell_command(deployment.offer->packages));
  return deployment.offer->kind == Offer::Kind::Recipe && deployment.offer->has_python
             ? fmt::format("nocturne env install {}\n", shell_quote(deployment.offer->name))
             : std::string();
}

/// One process, whatever the job has.
Json build_options(const Deployment& deployment) {
  Json options = completed_options(deployment);
  for (const char* key : {"core_count", "core_count_per_process", "job_array", "job_dependency", "request_gpus"})
    options.erase(key);
  options["job_name"] = options["job_name"].get<std::string>() + "-build";
  options["standard_output_file"] = "build.out";
  options["node_count"] = 1;
  options["process_count_per_node"] = 1;
  return options;
}

}  // namespace

std::string build_script(const Deployment& deployment) {
  const Json build = deployment.request.application.value("build", Json::object());
  const std::string command = build_command(build);
  const std::string provision = provision_lines(deployment);
  if (provision.empty() && command.empty()) return {};
  std::string text = "#!/bin/sh\n" + job_directives(build_options(deployment), deployment.request.scheduler());
  text += "# Makes what the job needs; once.\nset -eu\n";
  text += folder_lines(deployment.request) + module_lines(deployment.request) + provision;
  if (command.empty()) return text;
  text += container_lines(deployment) + source_lines(build.value("src", ""));
  return text + contained_command(deployment, "/bin/sh -c " + shell_quote(command)) + "\n";
}

std::string definition_file(const Deployment& deployment) {
  const std::size_t scheme = deployment.container.find("://");
  if (deployment.profile || scheme == std::string::npos) return {};
  const std::string hub = deployment.container.substr(0, scheme);
  std::string text = fmt::format("# The image that answers the request.\nBootstrap: {}\nFrom: {}\n",
                                 deploy::comment_text(hub), deploy::comment_text(without_hub(deployment.container)));
  const Json build = deployment.request.application.value("build", Json::object());
  if (const std::string command = build_command(build); !command.empty()) {
    text += "\n%post\n    set -eu\n    mkdir -p /opt/application && cd /opt/application\n";
    for (const std::string& line : deploy::writing_commands(command + "\n", "/opt/application/build.sh"))
      text += "    " + line + "\n";
    text +=
        "    " + replaced(source_lines(build.value("src", "")), "\n", "\n    ") + "/bin/sh /opt/application/build.sh\n";
  }
  return text + "\n%runscript\n    exec \"$@\"\n";
}

}  // namespace nocturne::tuner
