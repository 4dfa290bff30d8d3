#include "tuner/campaign_file.hpp"

#include <utility>

#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/extends.hpp"
#include "tuner/campaign_file/identity.hpp"
#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/campaign_file/sections.hpp"
#include "tuner/campaign_file/space_section.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using CampaignResult = std::expected<CampaignSpec, std::vector<Problem>>;

const nlohmann::json& parsed_schema() {
  static const nlohmann::json schema = nlohmann::json::parse(campaign_schema());
  return schema;
}

CampaignResult complete(const Document& document, const std::string& name, const fs::path& folder,
                        const space::Facts& facts) {
  Checks checks(document);
  for (SchemaFinding& finding : check_against_schema(parsed_schema(), document.value)) {
    checks.add(finding.pointer, std::move(finding.found), std::move(finding.allowed), std::move(finding.nearest),
               finding.at);
  }
  if (!document.value.is_object()) return std::unexpected(checks.take());

  const space::Workload workload = read_workload(checks);
  const space::Objective objective = read_objective(checks);
  const StrategyChoice strategy = read_strategy(checks);
  const Budget budget = read_budget(checks);
  const RunSettings run = read_run(checks);
  const WorkerChoice worker = read_worker(checks, folder, name);
  const VerifySettings verify = read_verify(checks);
  std::optional<space::Space> space = read_space(checks, facts, worker);
  if (!checks.empty() || !space) return std::unexpected(checks.take());

  nlohmann::json stored = document.value;
  stored.erase("$schema");
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
                      .identity_json = identity_json(workload, objective, *space, worker, facts),
                      .document = std::move(stored)};
}

}  // namespace

CampaignResult load_campaign(const fs::path& path, const space::Facts& facts) {
  auto document = read_with_bases(path);
  if (!document) return std::unexpected(std::move(document.error()));
  return complete(*document, path.string(), path.parent_path(), facts);
}

CampaignResult parse_campaign(std::string_view text, const std::string& name, const fs::path& folder,
                              const space::Facts& facts) {
  auto document = read_text_with_bases(text, name, folder);
  if (!document) return std::unexpected(std::move(document.error()));
  return complete(*document, name, folder, facts);
}

}  // namespace nocturne::tuner
