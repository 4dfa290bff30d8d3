#include "tuner/campaign_file/campaign_file.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "measure/container/container.hpp"
#include "measure/container/image_form.hpp"
#include "space/digest.hpp"
#include "space/facts_json.hpp"
#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/command_section.hpp"
#include "tuner/campaign_file/extends.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/campaign_file/sections.hpp"
#include "tuner/campaign_file/space_section.hpp"
#include "tuner/campaign_file/workload_section.hpp"
#include "tuner/schema/campaign_schema.hpp"

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
  const std::string text = document.dump();
  const auto is_asked = [&](const char* fact) { return facts.find(fact) == nullptr && text.contains(fact); };
  if (is_asked(kContainersFact)) facts.set(kContainersFact, measure::available_containers());
  if (is_asked(kImageFormsFact)) facts.set(kImageFormsFact, measure::available_image_forms());
}

namespace {

const nlohmann::json* machine_of(const nlohmann::json& document) {
  const auto found = document.find(kStoredMachine);
  return found != document.end() && found->is_object() ? &*found : nullptr;
}

}  // namespace

nlohmann::json machine_json(const space::Facts& facts, const std::vector<UnavailableFramework>& unavailable,
                            const std::vector<RecipeAnswer>& answers) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [framework, reason, sources] : unavailable) {
    list.push_back({{"framework", framework}, {"reason", reason}});
    if (!sources.empty()) list.back()["sources"] = sources;
  }
  nlohmann::json document = {{"facts", space::to_json(facts)}, {"unavailable", std::move(list)}};
  for (const auto& [framework, source, recipe] : answers)
    document["answers"].push_back({{"framework", framework}, {"source", source}, {"recipe", recipe}});
  return document;
}

space::Facts stored_facts(const nlohmann::json& document) {
  const nlohmann::json* machine = machine_of(document);
  return machine == nullptr ? space::Facts() : space::facts_from_json(machine->value("facts", nlohmann::json()));
}

std::vector<UnavailableFramework> stored_unavailable(const nlohmann::json& document) {
  std::vector<UnavailableFramework> result;
  const nlohmann::json* machine = machine_of(document);
  if (machine == nullptr) return result;
  for (const auto& each : machine->value("unavailable", nlohmann::json::array()))
    result.push_back({.name = each.value("framework", ""),
                      .reason = each.value("reason", ""),
                      .sources = each.value("sources", std::vector<std::string>())});
  return result;
}

std::vector<RecipeAnswer> stored_answers(const nlohmann::json& document) {
  std::vector<RecipeAnswer> result;
  const nlohmann::json* machine = machine_of(document);
  if (machine == nullptr) return result;
  for (const auto& each : machine->value("answers", nlohmann::json::array())) {
    result.push_back({.framework = each.value("framework", ""),
                      .source = each.value("source", ""),
                      .recipe = each.value("recipe", "")});
  }
  return result;
}

namespace {

/// What the database keeps: the file's values, what it leaves to us, and where it stands. Whoever reads it needs no
/// file.
nlohmann::json stored_document(nlohmann::json stored, const WorkerChoice& worker, const space::Workload& workload,
                               const space::Objective& objective, nlohmann::json machine) {
  stored.erase("$schema");
  stored[kStoredMachine] = std::move(machine);
  if (!worker.command.empty()) stored["worker"]["command"] = worker.command;
  if (!workload.data_folder.empty()) stored["workload"]["data_folder"] = workload.data_folder;
  if (!worker.own.empty()) {
    stored["workload"] = space::to_json(workload);
    stored["worker"]["folder"] = worker.own.folder.string();
    stored["objective"]["epochs"] = objective.epochs;
  }
  return stored;
}

nlohmann::json worker_json(const WorkerChoice& worker) {
  if (!worker.own.empty()) return measure::to_json(worker.own);
  return worker.command.empty() ? nlohmann::json{{"recipe", worker.recipe}}
                                : nlohmann::json{{"command", worker.command}};
}

nlohmann::json objective_json(const space::Objective& objective) {
  nlohmann::json document = {
      {"minimise", objective.minimise}, {"epochs", objective.epochs}, {"primary", objective.primary}};
  if (!objective.target) return document;
  const space::AccuracyTarget& target = *objective.target;
  document["target"] = {{"default_epochs", target.default_epochs},
                        {"most_epochs", target.most_epochs},
                        {"learning_parameters", target.learning_parameters}};
  if (target.accuracy) document["target"]["accuracy"] = *target.accuracy;
  return document;
}

/// CampaignSpec::identity_json: see there. Facts that no expression names are left out, so that a machine with more
/// memory goes on with a campaign that never asked for its memory.
std::string identity_json(const space::Workload& workload, const space::Objective& objective, const space::Space& space,
                          const WorkerChoice& worker, const space::Facts& facts) {
  nlohmann::json document = identity_of(space, facts);
  document["workload"] = space::to_json(workload);
  document["objective"] = objective_json(objective);
  document["worker"] = worker_json(worker);
  if (auto state = measure::state_of_sources(worker.own); !state.empty()) document["sources"] = std::move(state);
  return document.dump();
}

/// Whether learning curves can be drawn: a test set, and few values of each parameter that learns.
void check_target(Checks& checks, const space::Objective& objective, const space::Workload& workload,
                  const space::Space& space) {
  if (!objective.target) return;
  if (workload.is_synthetic()) {
    checks.add("/objective/minimise", "found " + objective.minimise,
               "time: synthetic images teach nothing, and have no test set");
  }
  const bool named = checks.get("/objective", "learning_parameters") != nullptr;
  for (std::size_t i = 0; i < objective.target->learning_parameters.size(); ++i) {
    const std::string& name = objective.target->learning_parameters[i];
    const std::string pointer =
        named ? pointer_to("/objective/learning_parameters", i) : std::string("/objective/minimise");
    const space::Parameter* parameter = space.find(name);
    if (parameter == nullptr) {
      if (named) checks.add(pointer, fmt::format("no parameter is called '{}'", name), "a parameter of the space");
    } else if (parameter->is_real() || parameter->size() > kMostLearningValues) {
      checks.add(
          pointer,
          fmt::format("'{}' has {}", name,
                      parameter->is_real() ? "any number of a range" : fmt::format("{} values", parameter->size())),
          fmt::format("{} values at most: each may need a learning curve", kMostLearningValues));
    }
  }
}

CampaignResult complete(Document document, const std::string& name, const fs::path& folder, space::Facts facts,
                        const Frameworks* known) {
  if (document.value.is_object())
    document.value.erase(kStoredMachine);  // where it was stored before: this machine's are asked for
  const Frameworks own_workers;
  const Frameworks& frameworks = known != nullptr ? *known : own_workers;
  // Asks every Python of the machine: only where somebody wants to know.
  const bool names_frameworks = document.value.dump().find(kFrameworksFact) != std::string::npos;
  if (names_frameworks && facts.find(kFrameworksFact) == nullptr) add_frameworks(facts, frameworks);
  add_containers(facts, document.value);
  Checks checks(document);
  check_against_schema(parsed_schema(), checks);
  if (!document.value.is_object()) return std::unexpected(checks.take());

  auto [workload, objective, strategy, budget, run, worker, verify, environments] =
      read_sections(checks, folder, name, frameworks);
  const bool own = !worker.own.empty();
  if (own) check_places(checks, worker.own);
  auto [unavailable, answers] = read_framework_values(checks, worker, frameworks);
  worker.answers = std::move(answers);
  std::optional<SpaceSection> section = read_space(checks, facts, worker, unavailable);
  if (section) check_target(checks, objective, workload, section->space);
  if (!checks.empty() || !section) return std::unexpected(checks.take());

  return CampaignSpec{.name = document.value["campaign"].get<std::string>(),
                      .description = document.value.value("description", ""),
                      .file = fs::absolute(folder / fs::path(name).filename()).lexically_normal(),
                      .workload = workload,
                      .objective = objective,
                      .space = section->space,
                      .strategy = strategy,
                      .budget = budget,
                      .run = run,
                      .worker = worker,
                      .verify = verify,
                      .environments = environments,
                      .unavailable = unavailable,
                      .shipped_build = section->shipped_build,
                      .facts = facts,
                      .identity_json = identity_json(workload, objective, section->space, worker, facts),
                      .document = stored_document(document.value, worker, workload, objective,
                                                  machine_json(facts, unavailable, worker.answers))};
}

}  // namespace

std::string CampaignSpec::identity() const {
  return space::short_digest(identity_json);
}

CampaignResult load_campaign(const fs::path& path, const space::Facts& facts, const Frameworks* frameworks,
                             std::span<const Setting> settings) {
  auto document = read_with_bases(path);
  if (!document) return std::unexpected(std::move(document.error()));
  for (const Setting& setting : settings)
    if (const auto applied = apply_setting(setting, *document); !applied)
      return std::unexpected(std::vector{Problem{.file = "--set", .found = applied.error()}});
  return complete(*document, path.string(), path.parent_path(), facts, frameworks);
}

CampaignResult parse_campaign(std::string_view text, const std::string& name, const fs::path& folder,
                              const space::Facts& facts, const Frameworks* frameworks) {
  auto document = read_text_with_bases(text, name, folder);
  if (!document) return std::unexpected(std::move(document.error()));
  return complete(*document, name, folder, facts, frameworks);
}

}  // namespace nocturne::tuner
