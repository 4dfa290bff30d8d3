#include "tuner/campaign_file.hpp"

#include <utility>

#include "measure/container/container.hpp"
#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/command_section.hpp"
#include "tuner/campaign_file/extends.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/identity.hpp"
#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/campaign_file/sections.hpp"
#include "tuner/campaign_file/space_section.hpp"
#include "tuner/campaign_file/workload_section.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using CampaignResult = std::expected<CampaignSpec, std::vector<Problem>>;

const nlohmann::json& parsed_schema() {
  static const nlohmann::json schema = nlohmann::json::parse(campaign_schema());
  return schema;
}

}  // namespace

void add_containers(space::Facts& facts, const nlohmann::json& document) {
  if (facts.find(kContainersFact) != nullptr || !document.dump().contains(kContainersFact)) return;
  facts.set(kContainersFact, measure::available_containers());
}

namespace {

CampaignResult complete(const Document& document, const std::string& name, const fs::path& folder, space::Facts facts,
                        const Frameworks* known) {
  const Frameworks own_workers;
  const Frameworks& frameworks = known != nullptr ? *known : own_workers;
  // Asks every Python of the machine: only where somebody wants to know.
  const bool names_frameworks = document.value.dump().find(kFrameworksFact) != std::string::npos;
  if (names_frameworks && facts.find(kFrameworksFact) == nullptr) add_frameworks(facts, frameworks);
  add_containers(facts, document.value);
  Checks checks(document);
  for (SchemaFinding& finding : check_against_schema(parsed_schema(), document.value)) {
    checks.add(finding.pointer, std::move(finding.found), std::move(finding.allowed), std::move(finding.nearest),
               finding.at);
  }
  if (!document.value.is_object()) return std::unexpected(checks.take());

  const WorkerChoice worker = read_worker(checks, folder, name, frameworks);
  const bool own = !worker.own.empty();
  const fs::path home = home_of(document.place("/workload/data_folder"), folder, name);
  const space::Workload workload =
      own ? command_workload(checks, worker.own) : read_workload(checks, home, worker.command.empty());
  space::Objective objective = read_objective(checks);
  const StrategyChoice strategy = read_strategy(checks);
  const Budget budget = read_budget(checks);
  const RunSettings run = read_run(checks);
  VerifySettings verify = read_verify(checks);
  const EnvironmentSettings environments = read_environments(checks);
  if (own) {
    fit_to_command(checks, worker.own, objective, verify);
    check_places(checks, worker.own);
  } else {
    fit_to_workload(checks, workload, verify);
  }
  std::vector<UnavailableFramework> unavailable = read_framework_values(checks, worker, frameworks);
  std::optional<space::Space> space = read_space(checks, facts, worker, unavailable);
  if (!checks.empty() || !space) return std::unexpected(checks.take());

  nlohmann::json stored = document.value;
  stored.erase("$schema");
  if (const space::Fact* available = facts.find(kFrameworksFact); names_frameworks && available != nullptr) {
    if (const auto* names = std::get_if<std::vector<std::string>>(available)) stored[kStoredFrameworks] = *names;
  }
  for (const UnavailableFramework& framework : unavailable) {
    const space::ConstraintSpec constraint = constraint_against(framework);
    stored["space"]["constraints"].push_back({{"require", constraint.require}, {"because", constraint.because}});
  }
  if (!workload.data_folder.empty()) stored["workload"]["data_folder"] = workload.data_folder;
  if (workload.is_synthetic() || workload.data == "folder") {  // their default is another
    stored["verify"]["accuracy_epochs"] = verify.accuracy_epochs;
  }
  if (own) {  // what the file leaves to us, and where it stands: others read the stored document
    stored["workload"] = space::to_json(workload);
    stored["worker"]["folder"] = worker.own.folder.string();
    stored["objective"]["epochs"] = objective.epochs;
  }
  return CampaignSpec{.name = document.value["campaign"].get<std::string>(),
                      .description = document.value.value("description", ""),
                      .file = fs::absolute(folder / fs::path(name).filename()).lexically_normal(),
                      .workload = workload,
                      .objective = objective,
                      .space = *space,
                      .strategy = strategy,
                      .budget = budget,
                      .run = run,
                      .worker = worker,
                      .verify = verify,
                      .environments = environments,
                      .unavailable = std::move(unavailable),
                      .facts = facts,
                      .identity_json = identity_json(workload, objective, *space, worker, facts),
                      .document = std::move(stored)};
}

}  // namespace

CampaignResult load_campaign(const fs::path& path, const space::Facts& facts, const Frameworks* frameworks) {
  auto document = read_with_bases(path);
  if (!document) return std::unexpected(std::move(document.error()));
  return complete(*document, path.string(), path.parent_path(), facts, frameworks);
}

CampaignResult parse_campaign(std::string_view text, const std::string& name, const fs::path& folder,
                              const space::Facts& facts, const Frameworks* frameworks) {
  auto document = read_text_with_bases(text, name, folder);
  if (!document) return std::unexpected(std::move(document.error()));
  return complete(*document, name, folder, facts, frameworks);
}

}  // namespace nocturne::tuner
