#include "tuner/campaign_file/identity.hpp"

#include <set>

#include "space/digest.hpp"
#include "space/facts_json.hpp"
#include "tuner/campaign_file/expression_words.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// The space as it constrains configurations: sentences and units for people are left out.
Json space_without_prose(const space::Space& space) {
  Json document = space.to_json();
  for (Json& parameter : document["parameters"]) {
    parameter.erase("description");
    parameter.erase("unit");
  }
  for (Json& constraint : document["constraints"]) constraint.erase("because");
  return document;
}

Json facts_in_use(const space::Space& space, const space::Facts& facts) {
  std::set<std::string> words;
  for (const space::Parameter& parameter : space.parameters()) words.merge(expression_words(parameter.active_if));
  for (const space::ConstraintSpec& constraint : space.constraints()) words.merge(expression_words(constraint.require));
  space::Facts used;
  for (const auto& [name, fact] : facts.all()) {
    if (words.contains(name)) used.set(name, fact);
  }
  return space::to_json(used);
}

}  // namespace

namespace {

Json worker_json(const WorkerChoice& worker) {
  if (!worker.own.empty()) return measure::to_json(worker.own);
  return worker.command.empty() ? Json{{"recipe", worker.recipe}} : Json{{"command", worker.command}};
}

}  // namespace

std::string identity_json(const space::Workload& workload, const space::Objective& objective, const space::Space& space,
                          const WorkerChoice& worker, const space::Facts& facts) {
  const Json document = {
      {"workload", space::to_json(workload)},
      {"objective", {{"minimise", objective.minimise}, {"epochs", objective.epochs}, {"primary", objective.primary}}},
      {"space", space_without_prose(space)},
      {"facts", facts_in_use(space, facts)},
      {"worker", worker_json(worker)}};
  return document.dump();
}

std::string CampaignSpec::identity() const {
  return space::short_digest(identity_json);
}

}  // namespace nocturne::tuner
