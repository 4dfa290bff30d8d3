#include "tuner/request/job_request.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/json_field.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/request/normalise.hpp"
#include "tuner/schema/request_schema.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& section, const char* key) {
  std::string text;
  space::take_field(section, key, text);
  return text;
}

Json section_of(const Json& parent, const char* key) {
  const auto found = parent.find(key);
  return found != parent.end() && found->is_object() ? *found : Json::object();
}

/// What the schema cannot say: keys that need each other.
void check_together(Checks& checks) {
  const auto has = [&](std::string_view section, std::string_view key) {
    return checks.root().contains(Json::json_pointer(pointer_to(section, key)));
  };
  const char* options = "/job/job_options";
  const Json* combined = checks.get(options, "combine_stdout_stderr");
  if (combined != nullptr && combined->is_boolean() && !combined->get<bool>() && !has(options, "standard_error_file"))
    checks.add(std::string(options) + "/combine_stdout_stderr", "errors are not combined with the output",
               "with it a standard_error_file");
  if (has(options, "request_event_notification") && !has(options, "email_address"))
    checks.add(std::string(options) + "/request_event_notification", "a notification without an address",
               "with it an email_address");
  if (has("/job", "application") && !has("/job/application", "executable") &&
      !has("/job/application", "container_runtime") && !has("/job", "optimisation"))
    checks.add("/job/application", "neither an executable nor a container", "executable or container_runtime");
  if (has("/job/application/build", "src") && !has("/job/application/build", "build_command"))
    checks.add("/job/application/build/src", "nothing says how it is built", "with it a build_command");
  const Json* type = checks.get("/job/optimisation", "app_type");
  if (type != nullptr && (*type == "ai_inference" || *type == "big_data"))
    checks.add("/job/optimisation/app_type", fmt::format("{} is out of scope: training is measured here", shown(*type)),
               "ai_training, hpc");
}

/// The registered target; what of it does not fit is a problem, what is decided otherwise a warning.
void resolve_target(Checks& checks, const Registry& registry, JobRequest& request) {
  const Json* name = checks.get("/job/target", "name");
  if (name == nullptr || !name->is_string()) return;
  const Json* named = checks.get("/job/target", "job_scheduler_type");
  const auto warn = [&](const char* pointer, std::string found) {
    request.warnings.push_back(problem_at(checks.document(), pointer, At::Value, std::move(found)));
  };
  const auto known = registry.infrastructure(name->get<std::string>());
  if (!known && named == nullptr) {
    checks.add("/job/target/name", known.error(),
               "a name of 'nocturne list infrastructures', or with it a "
               "job_scheduler_type: slurm, torque");
    return;
  }
  if (!known) {
    warn("/job/target/name", fmt::format("{}; the scheduler that is named decides", known.error()));
    return;
  }
  request.infrastructure = **known;
  const std::string own = (*known)->scheduler;
  if (named != nullptr && *named != own)
    warn("/job/target/job_scheduler_type", fmt::format("{} is not what {} has: {} decides", shown(*named),
                                                       (*known)->name, own.empty() ? "no scheduler" : own));
}

/// The partition that the queue names, else the default one.
void resolve_partition(Checks& checks, JobRequest& request) {
  if (!request.infrastructure || request.infrastructure->partitions.empty()) return;
  const std::string options = "/job/job_options";
  const Json* queue = checks.get(options, "queue");
  const std::string name = queue != nullptr ? queue->get<std::string>() : "";
  const Partition* partition = request.infrastructure->partition(name);
  if (partition == nullptr && !name.empty()) {
    std::vector<std::string> names;
    for (const Partition& each : request.infrastructure->partitions) names.push_back(each.name);
    checks.add(options + "/queue", fmt::format("{} has no partition {}", request.infrastructure->name, shown(*queue)),
               fmt::format("{}", fmt::join(names, ", ")), space::nearest(name, names));
  }
  if (partition == nullptr) return;
  request.partition = *partition;
  const Json* nodes = checks.get(options, "node_count");
  if (nodes != nullptr && partition->nodes && nodes->get<std::int64_t>() > *partition->nodes)
    checks.add(options + "/node_count",
               fmt::format("found {}; partition {} of {} has {} nodes", nodes->dump(), partition->name,
                           request.infrastructure->name, *partition->nodes),
               fmt::format("at most {}", *partition->nodes));
}

struct Ignored {
  const char *pointer, *found;
};

constexpr std::array kIgnored = {
    Ignored{"/job/optimisation/autotuning", "is not followed: the tuner is Nocturne"},
    Ignored{"/job/optimisation/app_type-ai_training/data/etl/cache",
            "decides nothing: workers keep their data in memory; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/config/distributed_training",
            "decides nothing: training in one process is measured; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/config/type", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/config/layers", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/config/parameters", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/data/etl/prefetch",
            "is a parameter of --tune where the network reads images; else it decides nothing"},
    Ignored{"/job/optimisation/app_type-ai_training/data/basedata", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/data/size", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/data/count", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-ai_training/data/type", "decides nothing; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-hpc/parallelisation-openacc/compiler",
            "decides nothing: images have no label for it; it is kept with the answer"},
    Ignored{"/job/optimisation/app_type-hpc/parallelisation-opencl/compiler",
            "decides nothing: images have no label for it; it is kept with the answer"},
};

/// No key is read silently: what decides nothing says so.
void warn_of_ignored(const Document& document, std::vector<Problem>& warnings) {
  const auto warn = [&](const std::string& pointer, const char* found) {
    if (document.value.contains(Json::json_pointer(pointer)))
      warnings.push_back(problem_at(document, pointer, At::Key, found));
  };
  for (const Ignored& each : kIgnored) warn(each.pointer, each.found);
  const Json job = section_of(document.value, "job");
  const Json training = section_of(section_of(job, "optimisation"), "app_type-ai_training");
  const std::string framework = text_of(section_of(training, "config"), "ai_framework");
  for (const auto& [key, ignored] : training.items())
    if (key.starts_with("ai_framework-") && key != "ai_framework-" + framework)
      warn("/job/optimisation/app_type-ai_training/" + key, "decides nothing: config.ai_framework names another");
  if (!framework.empty()) warn("/job/application/build/version", "decides nothing: the framework's version does");
  if (text_of(section_of(job, "application"), "app_type") == "python") {
    warn("/job/application/mpi_ranks", "decides nothing: app_type python has no launcher");
    warn("/job/application/minimal_efficiency", "decides nothing: app_type python has no launcher");
  }
}

/// Their sections, and what is said to be ignored is gone.
void take_sections(const Document& document, JobRequest& request) {
  const Json& job = document.value.at("job");
  request.has_options = job.contains("job_options");
  request.job_options = section_of(job, "job_options");
  request.target = section_of(job, "target");
  request.application = section_of(job, "application");
  request.optimisation = section_of(job, "optimisation");
  for (const auto& [key, ignored] : request.optimisation.items())
    request.has_optimisation = request.has_optimisation || key == "enable_opt_build" || key.starts_with("app_type");
}

}  // namespace

std::string JobRequest::scheduler() const {
  if (!has_options) return {};
  return infrastructure ? infrastructure->scheduler : text_of(target, "job_scheduler_type");
}

Json JobRequest::feature_section() const {
  const Json training = section_of(optimisation, "app_type-ai_training");
  if (training.contains("config"))
    return section_of(training, ("ai_framework-" + text_of(training["config"], "ai_framework")).c_str());
  const Json hpc = section_of(optimisation, "app_type-hpc");
  return section_of(hpc, ("parallelisation-" + text_of(section_of(hpc, "config"), "parallelisation")).c_str());
}

std::expected<JobRequest, std::vector<Problem>> read_request(std::string_view text, const std::string& file,
                                                             bool strict, const Registry& registry) {
  static const Json schema = Json::parse(request_schema());
  auto document = read_document(text, file);
  if (!document) return std::unexpected(std::move(document.error()));
  normalise_request(*document);
  JobRequest request;
  Checks checks(*document);
  std::vector<std::string> unknown;
  for (const SchemaFinding& finding : check_against_schema(schema, document->value)) {
    if (finding.at == At::Value || strict) {
      checks.add(finding.pointer, finding.found, finding.allowed, finding.nearest, finding.at);
      continue;
    }
    request.warnings.push_back(
        problem_at(*document, finding.pointer, finding.at, finding.found + " is ignored", "", finding.nearest));
    unknown.push_back(finding.pointer);
  }
  check_together(checks);
  resolve_target(checks, registry, request);
  resolve_partition(checks, request);
  if (!checks.empty()) return std::unexpected(checks.take());
  warn_of_ignored(*document, request.warnings);
  for (const std::string& pointer : unknown) {
    const Json::json_pointer place(pointer);
    document->value.at(place.parent_pointer()).erase(place.back());
  }
  take_sections(*document, request);
  return request;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes) {
      (word ? *word : word.emplace()) += text[++i];
    } else if (quote != 0 ? c == quote : (c == '\'' || c == '"')) {
      quote = quote != 0 ? char{0} : c;
      if (!word) word.emplace();
    } else if (quote == 0 && std::string_view(" \t\r\n").contains(c)) {
      if (word) words.push_back(*std::move(word));
      word.reset();
    } else {
      (word ? *word : word.emplace()) += c;
    }
  }
  if (word) words.push_back(*std::move(word));
  return words;
}

std::vector<std::string> command_words(const JobRequest& request) {
  // What follows an executable's name with blanks is a part of the command, as it always was.
  return split_words(text_of(request.application, "executable") + " " + text_of(request.application, "arguments"));
}

Demands demands_of(const JobRequest& request) {
  Demands demands;
  const Json training = section_of(request.optimisation, "app_type-ai_training");
  const Json hpc = section_of(request.optimisation, "app_type-hpc");
  demands.framework = text_of(section_of(training, "config"), "ai_framework");
  const Json section = section_of(training, ("ai_framework-" + demands.framework).c_str());
  demands.version = text_of(section, "version");
  demands.latest = demands.version == "latest";
  if (demands.latest) demands.version.clear();
  for (const auto& [key, wanted] :
       {std::pair{"xla", &demands.xla}, {"ngraph", &demands.ngraph}, {"glow", &demands.glow}})
    space::take_field(section, key, *wanted);
  // Keras is a front end: what trains is its backend, and a version of Keras is none of that.
  if (demands.framework == "keras") {
    demands.framework = section.contains("backend") ? text_of(section, "backend") : "tensorflow";
    demands.version.clear();
    demands.latest = false;
  }
  const Json build = section_of(request.optimisation, "opt_build");
  demands.accelerator = text_of(build, "acc_type");
  demands.cpu = text_of(build, "cpu_type");
  if (request.has_optimisation) demands.opt_build = request.optimisation.value("enable_opt_build", false);
  demands.hpc = text_of(request.optimisation, "app_type") == "hpc" || (!hpc.empty() && training.empty());
  const Json mpi = section_of(hpc, "parallelisation-mpi");
  demands.library = text_of(mpi, "library");
  demands.library_version = text_of(mpi, "version");
  space::take_field(section_of(hpc, "parallelisation-openmp"), "number_of_threads", demands.threads);
  space::take_field(request.application, "threads", demands.threads);
  demands.workload = text_of(request.application, "app_tag");
  if (demands.hpc || (demands.framework.empty() && !request.has_optimisation))
    demands.version = text_of(section_of(request.application, "build"), "version");
  demands.words = command_words(request);
  return demands;
}

}  // namespace nocturne::tuner
