#include "tuner/exchange/imported.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "space/digest.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {
namespace {

using nlohmann::json;

constexpr const char* kImported = "imported";
// Campaign names have 64 letters at most; six of a digest and a dash stand behind.
constexpr std::size_t kLongestStem = 57;

/// "mnist evening" and what tells it from others → "mnist-evening-3fa2c1".
std::string distinct_name(const std::string& name, const std::string& what) {
  std::string stem;
  for (const char c : name.substr(0, kLongestStem)) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    stem += fits ? c : '-';
  }
  if (stem.empty() || std::isalnum(static_cast<unsigned char>(stem.front())) == 0) stem.insert(0, "x");
  return fmt::format("{}-{}", stem, space::short_digest(what).substr(0, 6));
}

json document_of(const search::replay::RecordedSpace& recorded, const std::string& name) {
  json space = recorded.space().to_json();
  space["constraints"] = json::array();  // of a table, only its rows are valid, and they are the trials
  return {{"campaign", name},
          {"description", fmt::format("{}, imported", recorded.kind())},
          {"objective", {{"minimise", "time"}, {"epochs", {1}}}},
          {"workload", {{"network", name}, {"data", "recorded"}, {"optimizer", "none"}, {"training_examples", 1}}},
          {"worker", {{"command", {"recorded"}}}},
          {"space", std::move(space)},
          {"strategy", {{"name", "exhaustive"}}},
          {kStoredMachine,
           {{kImported, {{"from", recorded.source()}, {"kind", recorded.kind()}, {"name", recorded.name()}}}}}};
}

space::Trial trial_of(const search::replay::RecordedSpace& recorded, std::size_t row) {
  space::Trial trial{.number = static_cast<std::int64_t>(row), .configuration = recorded.configuration(row)};
  trial.fidelity.steps = 1;
  trial.outcome = recorded.rows().outcomes[row];
  if (trial.outcome != space::Outcome::Ok) {
    trial.reason = "it failed where it was recorded";
    return trial;
  }
  const double seconds = recorded.rows().objectives[row] * recorded.seconds_per_unit();
  const auto times = recorded.rows().times_of(row).size();
  trial.estimate = space::Estimate{.value = seconds, .runs = static_cast<int>(std::max<std::size_t>(times, 1))};
  trial.parts = space::Parts{.steps_per_epoch = 1, .steady_step = seconds};
  return trial;
}

db::FingerprintRecord fingerprint_of(const search::replay::RecordedSpace& recorded, const std::string& name) {
  space::Fingerprint fingerprint;
  fingerprint.set({.name = "recorded", .value = fmt::format("{} {}", recorded.kind(), name)});
  return {.hash = fingerprint.identity(), .fields = fingerprint.to_json()};
}

db::ImportedCampaign campaign_to_import(const db::Store& store, const db::CampaignSummary& campaign,
                                        const std::string& file_name) {
  db::ImportedCampaign imported;
  imported.created_unix_ns = campaign.created_unix_ns;
  imported.finished_unix_ns = campaign.finished_unix_ns.value_or(campaign.opened_unix_ns);
  db::CampaignRecord& record = imported.record;
  record = {.name = campaign.name,
            .identity = campaign.identity,
            .spec = campaign.spec,
            .strategy = campaign.strategy,
            .seed = campaign.seed,
            .parameters = store.parameters(campaign.id)};
  if (!campaign.fingerprint.empty()) record.fingerprint = store.load_fingerprint(campaign.fingerprint);
  if (imported_from(record.spec).empty()) {
    record.name = distinct_name(campaign.name, fmt::format("{} {}", campaign.fingerprint, campaign.created_unix_ns));
    record.spec["campaign"] = record.name;
    record.spec[kStoredMachine][kImported] = {{"from", file_name}, {"kind", "nocturne"}, {"name", campaign.name}};
  }
  for (db::StoredTrial& each : store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished}))
    imported.trials.push_back(std::move(each.trial));
  for (db::Exchange& exchange : store.exchanges(campaign.id))
    if (auto* ask = std::get_if<db::Ask>(&exchange)) std::ranges::move(ask->answer, std::back_inserter(imported.asked));
  return imported;
}

}  // namespace

std::string imported_from(const json& document) {
  const auto place = json::json_pointer(fmt::format("/{}/{}/from", kStoredMachine, kImported));
  return document.is_object() && document.contains(place) ? document.at(place).get<std::string>() : std::string();
}

std::vector<db::ImportedCampaign> campaigns_to_import(const db::Store& store, const std::string& file_name) {
  std::vector<db::ImportedCampaign> all;
  for (const db::CampaignSummary& each : store.list_campaigns())
    if (each.finished_unix_ns && each.ok > 0) all.push_back(campaign_to_import(store, each, file_name));
  std::ranges::reverse(all);  // the oldest first: the newest stay the newest
  return all;
}

db::ImportedCampaign campaign_of(const search::replay::RecordedSpace& recorded, std::int64_t now_unix_ns) {
  std::string what = recorded.kind();
  for (const space::Parameter& each : recorded.space().parameters()) what += " " + each.name;
  const std::string name = distinct_name(recorded.name(), what);
  db::ImportedCampaign imported;
  imported.created_unix_ns = imported.finished_unix_ns = now_unix_ns;
  imported.record = {.name = name,
                     .identity = space::short_digest(what),
                     .spec = document_of(recorded, name),
                     .strategy = "exhaustive",
                     .seed = 0,
                     .fingerprint = fingerprint_of(recorded, name),
                     .parameters = parameter_records(recorded.space())};
  for (std::size_t row = 0; row < recorded.rows().size(); ++row) imported.trials.push_back(trial_of(recorded, row));
  return imported;
}

bool is_native(std::span<const db::CampaignSummary> own, const db::ImportedCampaign& imported) {
  return std::ranges::any_of(own, [&](const db::CampaignSummary& each) {
    return each.created_unix_ns == imported.created_unix_ns && each.identity == imported.record.identity &&
           imported_from(each.spec).empty();
  });
}

}  // namespace nocturne::tuner
