#include "tuner/request/deployment.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "space/json_field.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::tuner {
namespace {

using deploy::shell_quote;
using Json = nlohmann::json;

std::string text_at(const Json& document, const char* pointer) {
  const Json found = document.value(Json::json_pointer(pointer), Json());
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::string own_container(const JobRequest& request) {
  std::string name = text_at(request.application, "/container_runtime");
  // A name without a hub is Docker's.
  return name.empty() || name.contains("://") || name.starts_with('/') ? name : "docker://" + name;
}

bool is_by_apptainer(const Deployment& deployment) {
  return deployment.runtime.empty() || deployment.runtime == "apptainer" || deployment.runtime == "singularity";
}

/// The container, by what was chosen and what the request brings.
void choose_container(const Choice& choice, Deployment& deployment) {
  const std::string own = own_container(deployment.request);
  if (deployment.profile) {
    if (!own.empty())
      deployment.notes.push_back("container_runtime is replaced: what was measured runs in what it was measured in");
    return;
  }
  if (choice.offer) deployment.container = choice.offer->container;
  if (!own.empty() && !deployment.container.empty() && own != deployment.container)
    deployment.notes.push_back(fmt::format("container_runtime {} is replaced by {}", own, deployment.container));
  const bool on_host = choice.offer && (choice.offer->kind != Offer::Kind::Image || !choice.offer->packages.empty());
  if (deployment.container.empty() && !on_host) deployment.container = own;
  if (on_host && !own.empty())
    deployment.notes.push_back(
        fmt::format("container_runtime {} is replaced: {} is on the host", own, title_of(*choice.offer)));
}

/// The runtime's options between its name and the image.
std::string apptainer_options(const Deployment& deployment, const std::string& data) {
  std::string options = deployment.gpu ? " --nv" : "";
  if (!data.empty()) options += " --bind " + shell_quote(data);
  return options;
}

std::string engine_options(const Deployment& deployment, const std::string& data) {
  std::string options = " --rm --volume \"$PWD\":\"$PWD\" --workdir \"$PWD\"";
  if (deployment.gpu) options += deployment.runtime == "docker" ? " --gpus all" : " --device nvidia.com/gpu=all";
  if (!data.empty()) options += " --volume " + shell_quote(data + ":" + data + ":ro");
  for (const char* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "TF_XLA_FLAGS"})
    options += fmt::format(" --env {}", name);
  return options;
}

/// Of a node, as the sections of HPC ask for them; empty: they do not.
std::optional<std::int64_t> accelerators_asked_for(const JobRequest& request) {
  std::optional<std::int64_t> most;
  for (const auto& section : {"/app_type-hpc/parallelisation-openacc/number_of_acc"_json_pointer,
                              "/app_type-hpc/parallelisation-opencl/number_of_acc"_json_pointer})
    if (request.optimisation.contains(section))
      most = std::max(most.value_or(0), request.optimisation.at(section).get<std::int64_t>());
  return most;
}

/// What the request says of a measured training that decides nothing.
void note_of_measured(Deployment& deployment) {
  if (!deployment.profile) return;
  if (deployment.parallelism.ranks > 1)
    deployment.notes.push_back("mpi_ranks decides nothing: what was measured trains in one process");
  if (!text_at(deployment.request.optimisation, "/app_type-ai_training/data/location").empty())
    deployment.notes.push_back("data.location decides nothing: DATA=FOLDER names another folder than was measured");
}

/// The storage that is preferred, and the runtime, as the target has them.
void choose_storage(Deployment& deployment, FragmentSubject& subject) {
  const JobRequest& request = deployment.request;
  const std::string preference = text_at(request.application, "/storage_class_pref");
  if (!request.infrastructure) {
    if (!preference.empty())
      deployment.notes.push_back("storage_class_pref decides nothing: the target is no registered infrastructure");
    return;
  }
  const Infrastructure& infrastructure = *request.infrastructure;
  deployment.runtime = infrastructure.container_runtime;
  deployment.storage =
      preferred_storage(infrastructure.storage_of(request.partition ? &*request.partition : nullptr), preference);
  subject.infrastructure = infrastructure.name;
  if (deployment.storage) subject.storage_class = deployment.storage->second;
  if (!preference.empty() && subject.storage_class != preference)
    deployment.notes.push_back(fmt::format("{} has no storage of class {}; {} is taken", infrastructure.name,
                                           preference, subject.storage_class.empty() ? "none" : subject.storage_class));
}

void note_evidence(Deployment& deployment) {
  if (deployment.profile || !deployment.offer) return;
  if (command_words(deployment.request).empty())
    deployment.notes.push_back("the job starts nothing: the request names no executable, and no training was measured");
  deployment.notes.push_back(
      fmt::format("nothing was measured for this request: {} has what it demands ({}), and no speed is claimed; --tune "
                  "measures what it leaves open",
                  title_of(*deployment.offer), to_text(deployment.offer->labels)));
  if (!deployment.offer->missing.empty())
    deployment.notes.push_back(fmt::format("{}. {}", deployment.offer->missing, deployment.offer->plug_in));
}

}  // namespace

std::string without_hub(const std::string& container) {
  const std::size_t at = container.find("://");
  return at == std::string::npos ? container : container.substr(at + 3);
}

bool says_what_runs(const JobRequest& request) {
  const Demands demands = demands_of(request);
  return !own_container(request).empty() ||
         (!demands.words.empty() && demands.framework.empty() && demands.library.empty());
}

std::expected<Deployment, std::string> deployment_of(const JobRequest& request, const Choice& choice,
                                                     std::optional<deploy::Profile> profile, const Registry& registry,
                                                     const std::optional<FittedScaling>& fitted) {
  Deployment deployment{.request = request, .profile = std::move(profile), .offer = choice.offer};
  const Demands demands = demands_of(request);
  auto parallelism = parallelism_of(request, choice.offer ? choice.offer->scaling : std::nullopt, fitted);
  if (!parallelism) return std::unexpected(parallelism.error());
  deployment.parallelism = *std::move(parallelism);
  if (!deployment.parallelism.reason.empty()) deployment.notes.push_back(deployment.parallelism.reason);
  note_of_measured(deployment);
  choose_container(choice, deployment);
  const auto accelerators = accelerators_asked_for(request);
  deployment.accelerators = std::max(deployment.accelerators, accelerators.value_or(0));
  deployment.gpu = request.job_options.contains("request_gpus") || demands.accelerator == "nvidia" ||
                   accelerators.has_value() || (choice.offer && choice.offer->labels.accelerator == "nvidia");
  FragmentSubject subject{.applications = {demands.workload, demands.framework, demands.library},
                          .features = request.feature_section(),
                          .measured = deployment.profile.has_value()};
  choose_storage(deployment, subject);
  deployment.fragments = fragments_for(registry.fragments, subject);
  note_evidence(deployment);
  return deployment;
}

std::string storage_place(const Deployment& deployment) {
  if (!deployment.storage) return {};
  const std::string& url = deployment.storage->first;
  return url.starts_with("file://") ? url.substr(std::string_view("file://").size()) : url;
}

std::string container_lines(const Deployment& deployment) {
  if (deployment.container.empty()) return {};
  const std::string& container = deployment.container;
  if (!is_by_apptainer(deployment))
    return fmt::format("image={}\n", shell_quote(deployment.runtime == "shifter" ? "docker:" + without_hub(container)
                                                                                 : without_hub(container)));
  std::string lines;
  if (deployment.runtime.empty())
    lines =
        "runtime=$(command -v apptainer || command -v singularity) || { echo 'neither apptainer nor singularity is "
        "here' >&2; exit 5; }\n";
  const std::string file = singularity_file(container);
  if (file.starts_with('/')) return lines + fmt::format("image={}\n", shell_quote(file));
  return lines + fmt::format("image=\"${{IMAGES:-$PWD}}\"/{}\n[ -e \"$image\" ] || image={}\n", shell_quote(file),
                             shell_quote(container));
}

std::string contained_command(const Deployment& deployment, const std::string& words) {
  if (deployment.container.empty()) return words;
  const std::string data = text_at(deployment.request.optimisation, "/app_type-ai_training/data/location");
  const std::string& runtime = deployment.runtime;
  if (is_by_apptainer(deployment))
    return fmt::format("{} exec{} \"$image\" {}", runtime.empty() ? "\"$runtime\"" : runtime,
                       apptainer_options(deployment, data), words);
  if (runtime == "podman" || runtime == "docker")
    return fmt::format("{} run{} \"$image\" {}", runtime, engine_options(deployment, data), words);
  if (runtime == "shifter") return fmt::format("shifter --image=\"$image\" {}", words);
  const std::string bind = data.empty() ? "" : " --bind " + shell_quote(data + ":" + data);
  return fmt::format("ch-run --bind \"$PWD\":\"$PWD\"{} --cd \"$PWD\" \"$image\" -- {}", bind, words);
}

}  // namespace nocturne::tuner
