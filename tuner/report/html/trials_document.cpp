#include "tuner/report/html/trials_document.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/campaign/stored_document.hpp"

namespace nocturne::report {
namespace {

using nlohmann::json;

/// Of one trial: name and value of each column, in the columns' order.
using Cells = std::vector<std::pair<const char*, json>>;
constexpr std::size_t kIdentifying = 3;  // columns that every row has: trial, settings, inactive

/// Things in the order in which they came first, each once.
class Dictionary {
 public:
  std::size_t place_of(json thing) {
    const auto [known, is_new] =
        places_.try_emplace(thing.dump(-1, ' ', false, json::error_handler_t::replace), things_.size());
    if (is_new) things_.push_back(std::move(thing));
    return known->second;
  }
  [[nodiscard]] const json& things() const { return things_; }

 private:
  std::map<std::string, std::size_t> places_;
  json things_ = json::array();
};

/// What configurations are written with.
struct Settings {
  std::vector<std::string> order;  ///< of parameters in the campaign file
  space::Configuration usual;      ///< settings that are no difference from the default in some trial
  Dictionary differing, inactive;
};

Settings common_settings(const ReportData& data) {
  Settings settings;
  for (const auto& parameter : tuner::parameters_of(data.answer.campaign.spec))
    settings.order.push_back(parameter.name);
  for (const db::StoredTrial& stored : data.trials) {
    const space::Configuration differing = data.defaults.differing(stored.trial.configuration);
    for (const auto& [name, value] : stored.trial.configuration.values())
      if (differing.find(name) == nullptr) settings.usual.set(name, value);
  }
  return settings;
}

/// Places of what the configuration has and the default has not, as tables write it: in the order of the campaign file,
/// then by name.
json differing_places(space::Configuration differing, Settings& settings) {
  json places = json::array();
  const auto add = [&](const std::string& name, const space::Value& value) {
    places.push_back(settings.differing.place_of(json::object({{name, space::to_json(value)}})));
  };
  for (const std::string& name : settings.order) {
    const space::Value* value = differing.find(name);
    if (value == nullptr) continue;
    add(name, *value);
    differing.erase(name);
  }
  for (const auto& [name, value] : differing.values()) add(name, value);
  return places;
}

std::size_t inactive_place(const space::Configuration& configuration, Settings& settings) {
  json names = json::array();
  for (const auto& [name, value] : settings.usual.values())
    if (configuration.find(name) == nullptr) names.push_back(name);
  return settings.inactive.place_of(std::move(names));
}

json whole_or_null(const std::optional<std::int64_t>& number) {
  return number ? json(*number) : json();
}

Cells cells_of(const db::StoredTrial& stored, const tuner::DefaultSettings& defaults, Settings& settings) {
  const space::Trial& trial = stored.trial;
  const bool finished = stored.state == db::TrialState::Finished;
  const auto of_estimate = [&trial](double space::Estimate::* member) {
    return trial.estimate ? number_json((*trial.estimate).*member) : json();
  };
  const auto of_parts = [&trial](double space::Parts::* member) {
    return trial.parts ? number_json((*trial.parts).*member) : json();
  };
  return {{"trial", trial.number},
          {"settings", differing_places(defaults.differing(trial.configuration), settings)},
          {"inactive", inactive_place(trial.configuration, settings)},
          {"outcome", finished ? json(space::to_text(trial.outcome)) : json()},
          {"reason", trial.reason},
          {"seconds", of_estimate(&space::Estimate::value)},
          {"standard_error", of_estimate(&space::Estimate::standard_error)},
          {"steps", trial.fidelity.steps},
          {"runs", stored.runs},
          {"reused", stored.reused_from.has_value()},
          {"peak_bytes", whole_or_null(trial.peak_bytes)},
          {"device_bytes", whole_or_null(trial.device_bytes)},
          {"import_s", of_parts(&space::Parts::import)},
          {"data_s", of_parts(&space::Parts::data)},
          {"compile_s", of_parts(&space::Parts::compile)},
          {"first_step_excess_s", of_parts(&space::Parts::first_step_excess)},
          {"epoch_overhead_s", of_parts(&space::Parts::epoch_overhead)},
          {"steps_per_epoch", of_parts(&space::Parts::steps_per_epoch)},
          {"steady_step_s", of_parts(&space::Parts::steady_step)}};
}

}  // namespace

json trials_document(const ReportData& data) {
  Settings settings = common_settings(data);
  std::vector<Cells> all;
  for (const db::StoredTrial& stored : data.trials) all.push_back(cells_of(stored, data.defaults, settings));
  json same = json::object(), columns = json::object(), trials = json::array();
  for (std::size_t i = 0; !all.empty() && i < all.front().size(); ++i) {
    const char* name = all.front()[i].first;
    const json& first = all.front()[i].second;
    const bool shared = std::ranges::all_of(all, [&](const Cells& cells) { return cells[i].second == first; });
    const std::size_t place = columns.size();
    if (shared && i >= kIdentifying)
      same[name] = first;
    else
      columns[name] = place;
  }
  for (Cells& cells : all) {
    json row = json::array();
    for (auto& [name, cell] : cells)
      if (columns.contains(name)) row.push_back(std::move(cell));
    trials.push_back(std::move(row));
  }
  return {{"campaign", data.answer.campaign.name},  {"generation", data.answer.campaign.generation},
          {"default", settings.usual.to_json()},    {"settings", settings.differing.things()},
          {"inactive", settings.inactive.things()}, {"same", std::move(same)},
          {"columns", std::move(columns)},          {"trials", std::move(trials)}};
}

}  // namespace nocturne::report
