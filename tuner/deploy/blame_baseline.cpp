#include "tuner/deploy/blame_baseline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "space/outcome.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::deploy {
namespace {

std::optional<db::BuildRecord> build_of(const db::Store& store, const std::string& key) {
  if (key.empty()) return std::nullopt;
  const auto builds = store.list_builds();
  const auto found = std::ranges::find(builds, key, &db::BuildRecord::key);
  return found == builds.end() ? std::nullopt : std::optional(*found);
}

std::optional<space::Fingerprint> machine_of(const db::Store& store, const std::string& hash) {
  const auto stored = store.find_fingerprint(hash);
  if (!stored) return std::nullopt;
  auto whole = space::Fingerprint::from_json(stored->fields);
  return whole ? std::optional(std::move(*whole)) : std::nullopt;
}

std::filesystem::path program_of(const db::BuildRecord& build) {
  const std::filesystem::path folder = build.folder;
  return db::environment_of(build) ? folder / "bin" / "python" : folder / build.program;
}

}  // namespace

std::string compiler_of_then(const std::vector<measure::Compiler>& installed,
                             const std::optional<db::BuildRecord>& then) {
  if (!then || db::environment_of(*then)) return {};
  // "g++-12 (Debian 12.2.0-14) 12.2.0" and "g++ (Debian 12.2.0-14) 12.2.0" are one.
  const auto without_name = [](const std::string& version) {
    return version.substr(std::min(version.find(' '), version.size()));
  };
  for (const measure::Compiler& each : installed)
    if (each.version == then->compiler) return each.path;
  for (const measure::Compiler& each : installed) {
    const std::string rest = without_name(each.version);
    if (!rest.empty() && rest == without_name(then->compiler)) return each.path;
  }
  return {};
}

BlameBaseline blame_baseline(const Profile& profile, const db::Store* store) {
  BlameBaseline baseline;
  baseline.result = {.name = profile.campaign,
                     .workload = profile.workload,
                     .minimise = profile.minimise,
                     .epochs = profile.epochs,
                     .configuration = profile.configuration,
                     .steps = profile.training.steps};
  if (profile.training.own_command.is_object()) {
    baseline.result.worker = profile.training.own_command;
  } else if (profile.training.is_command()) {
    auto command = nlohmann::json::array({profile.training.program.string()});
    for (const std::string& argument : profile.training.arguments) command.push_back(argument);
    baseline.result.worker = {{"command", std::move(command)}};
  }
  baseline.then = {.machine = profile.measured_on.machine, .artifact = profile.training.artifact};
  baseline.estimate = profile.estimate;
  if (!profile.training.artifact.empty()) baseline.program = profile.training.program;
  if (store == nullptr) return baseline;
  if (auto whole = machine_of(*store, profile.measured_on.fingerprint)) baseline.then.machine = std::move(*whole);
  baseline.then.build = build_of(*store, profile.training.artifact);
  if (baseline.then.build) baseline.program = program_of(*baseline.then.build);
  return baseline;
}

std::expected<BlameBaseline, std::string> blame_baseline(const tuner::Answer& answer, const db::Store& store) {
  if (!answer.best) return std::unexpected(fmt::format("no trial of '{}' has ended well yet", answer.campaign.name));
  const auto detail = store.load_trial(answer.best->id);
  const db::StoredRun* measured = nullptr;
  for (const db::StoredRun& each : detail.runs)
    if (each.record.run.outcome == space::Outcome::Ok) measured = &each;
  if (measured == nullptr) return std::unexpected("its best trial has no run that ended well");
  BlameBaseline baseline;
  baseline.result = {.name = answer.campaign.name,
                     .workload = tuner::workload_of(answer.campaign.spec),
                     .minimise = answer.objective.target ? "time" : answer.objective.minimise,
                     .epochs = answer.objective.primary,
                     .configuration = answer.best->trial.configuration,
                     .steps = answer.best->trial.fidelity.steps,
                     .worker = answer.campaign.spec.value("worker", nlohmann::json::object())};
  baseline.then.artifact = measured->record.run.artifact;
  const std::string& hash =
      measured->record.fingerprint.empty() ? answer.campaign.fingerprint : measured->record.fingerprint;
  if (auto whole = machine_of(store, hash)) baseline.then.machine = std::move(*whole);
  baseline.then.build = build_of(store, baseline.then.artifact);
  if (baseline.then.build) baseline.program = program_of(*baseline.then.build);
  baseline.estimate = answer.best->trial.estimate;
  return baseline;
}

}  // namespace nocturne::deploy
