#include "tuner/request/job_request.hpp"

#include <sstream>

#include <fmt/format.h>

#include "space/json_field.hpp"
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
  if (has("/job/target", "name") && !has("/job/target", "job_scheduler_type"))
    checks.add("/job/target/name", "no infrastructure of that name is registered",
               "with it a job_scheduler_type: slurm, torque");
  const Json* type = checks.get("/job/optimisation", "app_type");
  if (type != nullptr && (*type == "ai_inference" || *type == "big_data"))
    checks.add("/job/optimisation/app_type", fmt::format("{} is out of scope: training is measured here", shown(*type)),
               "ai_training, hpc");
}

void warn_of_ignored(const Document& document, std::vector<Problem>& warnings) {
  const auto warn = [&](const char* pointer, const char* found) {
    if (document.value.contains(Json::json_pointer(pointer)))
      warnings.push_back(problem_at(document, pointer, At::Key, found));
  };
  warn("/job/optimisation/autotuning", "is not followed: the tuner is Nocturne");
  warn("/job/optimisation/enable_autotuning", "is not followed: 'nocturne tune' measures what a request leaves open");
  warn("/job/optimisation/app_type-ai_training/data/etl", "is not followed: what was measured decides");
  warn("/job/application/container_runtime", "is not followed: what was measured in a container runs in that one");
  warn("/job/application/mpi_ranks", "is not followed: no run with several processes was measured");
  warn("/job/application/minimal_efficiency", "is not followed: no run with several processes was measured");
  warn("/job/application/storage_class_pref", "is not followed: no storage is registered");
  warn("/job/application/build", "is not followed: what is built is not known here");
}

}  // namespace

std::string JobRequest::scheduler() const {
  return has_options ? text_of(target, "job_scheduler_type") : std::string();
}

std::expected<JobRequest, std::vector<Problem>> read_request(std::string_view text, const std::string& file,
                                                             bool strict) {
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
  if (!checks.empty()) return std::unexpected(checks.take());
  warn_of_ignored(*document, request.warnings);
  for (const std::string& pointer : unknown) {
    const Json::json_pointer place(pointer);
    document->value.at(place.parent_pointer()).erase(place.back());
  }
  const Json& job = document->value.at("job");
  request.has_options = job.contains("job_options");
  request.job_options = section_of(job, "job_options");
  request.target = section_of(job, "target");
  request.application = section_of(job, "application");
  request.optimisation = section_of(job, "optimisation");
  return request;
}

Demands demands_of(const JobRequest& request) {
  Demands demands;
  const Json training = section_of(request.optimisation, "app_type-ai_training");
  demands.framework = text_of(section_of(training, "config"), "ai_framework");
  const Json section = section_of(training, ("ai_framework-" + demands.framework).c_str());
  demands.version = text_of(section, "version");
  if (demands.version == "latest") demands.version.clear();
  for (const auto& [key, wanted] :
       {std::pair{"xla", &demands.xla}, {"ngraph", &demands.ngraph}, {"glow", &demands.glow}})
    space::take_field(section, key, *wanted);
  // Keras is a front end: what trains is its backend, and a version of Keras is none of that.
  if (demands.framework == "keras") {
    demands.framework = section.contains("backend") ? text_of(section, "backend") : "tensorflow";
    demands.version.clear();
  }
  demands.accelerator = text_of(section_of(request.optimisation, "opt_build"), "acc_type");
  demands.hpc = text_of(request.optimisation, "app_type") == "hpc";
  space::take_field(request.application, "threads", demands.threads);
  demands.workload = text_of(request.application, "app_tag");
  std::istringstream words(text_of(request.application, "executable") + " " +
                           text_of(request.application, "arguments"));
  for (std::string word; words >> word;) demands.words.push_back(word);
  return demands;
}

}  // namespace nocturne::tuner
