#include "tuner/deploy/make_profile.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "measure/artifact/artifact.hpp"
#include "measure/artifact/compiler.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/protocol/request.hpp"
#include "measure/supervisor/run_folder.hpp"
#include "space/fingerprint.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"
#include "tuner/deploy/bundle_parts.hpp"
#include "tuner/deploy/container.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/script_state.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/executor/python_worker.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/own_workers.hpp"
#include "tuner/installation/version.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string utc(std::int64_t unix_ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(unix_ns)};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time))));
}

/// The last good run of the search or, where there is none, the last good one at all.
const db::StoredRun* measured_run(const db::TrialDetail& detail) {
  const db::StoredRun* chosen = nullptr;
  for (const db::StoredRun& candidate : detail.runs) {
    const space::Run& run = candidate.record.run;
    // Runs of pairs and of the gate were asked for other steps, with turns or with stored weights: a search's run is
    // the plain one.
    if (run.outcome == space::Outcome::Ok && (chosen == nullptr || run.purpose == space::Purpose::Search ||
                                              chosen->record.run.purpose != space::Purpose::Search)) {
      chosen = &candidate;
    }
  }
  return chosen;
}

/// Fills a command of the user's own: its words and variables in the profile's configuration.
std::expected<void, std::string> use_own_command(const measure::CommandTemplate& command, Profile& profile) {
  const measure::CommandRun run{.steps = profile.training.steps, .seed = profile.training.seed};
  const auto words = measure::fill_words(command, profile.configuration, run);
  if (!words) return std::unexpected(words.error());
  const auto variables = measure::fill_environment(command, profile.configuration, run);
  if (!variables) return std::unexpected(variables.error());
  for (const auto& [name, value] : *variables) {
    profile.launch.set[name] = value;
    // A variable that the template sets is not one to be removed, even if it is one that parameters govern.
    std::erase(profile.launch.unset, name);
  }
  profile.training.own_command = measure::to_json(command);
  profile.training.data_folder = command.folder;
  const auto argv = tuner::command_worker_argv(command, *words, 1, tuner::find_installation());
  profile.training.program = argv.front();
  profile.training.arguments.assign(argv.begin() + 1, argv.end());
  return {};
}

/// The request of the run, while its folder exists: what was asked for, to the letter.
std::optional<protocol::Request> stored_request(const space::Run& run) {
  constexpr std::size_t kMostBytes = 16 << 20;  // a worker may have put anything in its place
  const json document = measure::read_run_json(run.folder, measure::kRequestFile, kMostBytes);
  if (document.is_discarded()) return std::nullopt;
  try {
    return protocol::parse_request(document);
  } catch (const std::runtime_error&) {
    return std::nullopt;  // a folder that someone edited; what the database knows is enough
  }
}

/// The environment of that key and its recipe; null: there is none.
struct UsedEnvironment {
  measure::Environment environment;
  const measure::EnvironmentRecipe* recipe = nullptr;
};
UsedEnvironment find_environment(const std::string& key, const tuner::Frameworks* frameworks) {
  for (std::size_t i = 0; frameworks != nullptr && i < frameworks->recipes().size(); ++i) {
    const measure::EnvironmentRecipe& recipe = frameworks->recipes()[i];
    if (recipe.kind != measure::RecipeKind::Python) continue;
    auto installed = frameworks->installed(recipe.name);
    if (installed && installed->key == key) return {.environment = *std::move(installed), .recipe = &recipe};
  }
  return {};
}

std::expected<void, std::string> find_program(const space::Run& run, const tuner::WorkerChoice& worker,
                                              const std::string& framework, const std::filesystem::path& builds_folder,
                                              Training& training) {
  if (run.artifact.empty()) {
    if (!worker.command.empty()) {
      training.program = worker.command.front();
      training.arguments.assign(worker.command.begin() + 1, worker.command.end());
      return {};
    }
    const tuner::WorkerRecipe* shipped = tuner::find_shipped_worker(framework);
    if (shipped == nullptr)
      return std::unexpected("the run names neither a build nor a command, so nothing can be exported from it");
    training.recipe = framework;
    training.program = tuner::find_shipped(*shipped);
    if (!training.program.empty()) return {};
    return std::unexpected(fmt::format("{}, which trained it, is not there", shipped->program));
  }
  std::error_code error;
  if (std::filesystem::is_directory(builds_folder, error)) {
    for (const measure::StoredArtifact& build : measure::ArtifactStore(builds_folder).list()) {
      if (build.key == run.artifact) {
        training.recipe = framework;
        training.artifact = build.key;
        training.program = std::filesystem::absolute(build.folder) / build.name;
        return {};
      }
    }
  }
  // Where it could not be built, it is the worker that came along.
  if (const auto program = tuner::program_that_came_along(); measure::file_digest(program) == run.artifact) {
    training.recipe = framework;
    training.artifact = run.artifact;
    training.program = std::filesystem::absolute(program);
    return {};
  }
  return std::unexpected(fmt::format("the build {} of the best configuration is not in {}; '{}' makes it again",
                                     run.artifact.substr(0, 12), builds_folder.string(),
                                     tuner::command_text({"tune", "FILE"})));
}

/// What an image must have for it. The C library is the image's own, with its loader.
std::vector<std::filesystem::path> libraries_of(const std::filesystem::path& program) {
  constexpr std::chrono::seconds kPatience{30};
  constexpr std::array<std::string_view, 7> kOfLibc = {"libc.",  "libm.",    "libpthread.", "libdl.",
                                                       "librt.", "libutil.", "libresolv."};
  const auto said = measure::ask_tool({"ldd", program.string()}, kPatience);
  std::vector<std::filesystem::path> libraries = said ? linked_libraries(*said) : decltype(libraries)();
  std::erase_if(libraries, [&](const std::filesystem::path& library) {
    return std::ranges::any_of(
        kOfLibc, [name = library.filename().string()](std::string_view start) { return name.starts_with(start); });
  });
  std::error_code error;
  for (std::filesystem::path& library : libraries) {
    // /lib is a link to /usr/lib here, and may be in an image, or not.
    const auto folder = std::filesystem::canonical(library.parent_path(), error);
    if (!error) library = folder / library.filename();
  }
  return libraries;
}

std::expected<MeasuredOn, std::string> measured_on(const db::Store& store, const std::string& hash) {
  const auto whole = space::Fingerprint::from_json(store.load_fingerprint(hash).fields);
  if (!whole) return std::unexpected(whole.error());
  MeasuredOn result{.fingerprint = hash};
  for (space::FingerprintField field : whole->fields()) {
    if (field.match != space::Match::Ignore) {
      field.cheap = false;  // says how to measure it, nothing about the machine
      result.machine.set(std::move(field));
    }
  }
  return result;
}

std::vector<measure::RunSummary> summaries_of(const db::TrialDetail& detail, const db::CampaignSummary& campaign,
                                              space::Purpose purpose) {
  const tuner::CampaignSections sections = tuner::sections_of(campaign.spec);
  const auto schedule = tuner::trial_schedule(sections.worker, sections.workload, detail.stored.trial.configuration);
  std::vector<measure::RunSummary> summaries;
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    if (schedule && run.outcome == space::Outcome::Ok && run.purpose == purpose) {
      if (auto summary = measure::summarise(run, *schedule)) summaries.push_back(*std::move(summary));
    }
  }
  return summaries;
}

/// Not the stored estimate: that is for the campaign's own horizon, and this profile may be for another.
std::optional<space::Estimate> estimate_at(const db::TrialDetail& detail, const db::CampaignSummary& campaign,
                                           double epochs) {
  const auto summaries = summaries_of(detail, campaign, space::Purpose::Search);
  return summaries.empty() ? std::nullopt : std::optional(measure::estimate_at(summaries, epochs));
}

/// From the runs of the search and of pairs that took turns: two that share the processors are slower than one.
std::optional<StepForecast> step_of(const db::Store& store, const db::CampaignSummary& campaign,
                                    const db::TrialDetail& detail, const Profile& profile) {
  // Pairs one after the other know nothing of other hours and days.
  constexpr double kLeastProcessSd = 0.02;
  if (has_own_command(profile)) {
    const auto command = measure::command_from_json(profile.training.own_command);
    if (!command || command->timing != measure::Timing::Steps) return std::nullopt;
  }
  std::vector<double> steps;
  const auto add = [&](space::Purpose purpose) {
    for (const auto& summary : summaries_of(detail, campaign, purpose)) steps.push_back(summary.parts.steady_step);
  };
  add(space::Purpose::Search);
  const auto comparisons = store.comparisons(campaign.id);
  if (std::ranges::none_of(comparisons, [](const auto& each) { return each.record.method == "duet"; }))
    add(space::Purpose::Verify);
  const double noise = tuner::process_sd_of(store, campaign);
  return forecast_step(steps, noise > 0 ? std::max(noise, kLeastProcessSd) : tuner::kProcessSd);
}

Gain gain_of(const db::VerdictRecord& verdict, const space::Configuration& baseline) {
  // The record's ratio is of times, candidate over baseline: its low end is the high end of the gain.
  return {.verdict = verdict.verdict,
          .epochs = verdict.horizon_epochs,
          .gain_percent = tuner::gain_percent(verdict.log_ratio_mean),
          .low_percent = tuner::gain_percent(verdict.log_ratio_high),
          .high_percent = tuner::gain_percent(verdict.log_ratio_low),
          .confidence = verdict.confidence,
          .pairs = verdict.pairs,
          .baseline = baseline};
}

/// What the database says of the configuration: which campaign's it is, how fast, and against what.
Profile profile_of(const tuner::Answer& answer, const db::StoredTrial& best, const db::TrialDetail& detail) {
  Profile profile;
  profile.campaign = answer.campaign.name;
  profile.identity = answer.campaign.identity;
  profile.generation = answer.campaign.generation;
  profile.trial = best.trial.number;
  profile.workload = tuner::workload_of(answer.campaign.spec);
  profile.minimise = answer.objective.minimise;
  profile.epochs = answer.objective.primary;
  profile.configuration = best.trial.configuration;
  // Its time is that of the epochs it needs; the gain is one of trainings to the target, which no pairs of steps hold.
  const bool to_target = answer.target && answer.target->best;
  if (to_target) profile.epochs = answer.target->best->epochs.mean;
  if (answer.objective.target) profile.minimise = "time";
  profile.estimate = estimate_at(detail, answer.campaign, profile.epochs);
  if (!answer.objective.target && answer.verdict && answer.comparison &&
      answer.comparison->record.candidate == best.trial.configuration)
    profile.gain = gain_of(*answer.verdict, answer.comparison->record.baseline);
  return profile;
}

/// What the run was asked to train on, and for how long.
void use_request(const space::Run& run, std::int64_t steps, const std::filesystem::path& data_folder,
                 Training& training) {
  training.seed = static_cast<std::uint64_t>(run.seed);
  training.steps = steps;
  training.partial_batch = "train";  // what every executor asks for
  training.data_folder = data_folder;
  if (const auto request = stored_request(run)) {
    training.data_folder = request->data_folder;
    training.steps_per_sample = request->steps_per_sample;
    training.partial_batch = request->partial_batch == protocol::PartialBatch::Train ? "train" : "drop";
  }
}

/// The program that trained (of an environment, a build, a command of the user's own) and how it is launched.
std::expected<void, std::string> use_program(const space::Run& run, const json& spec,
                                             const ProfileCircumstances& circumstances, Profile& profile) {
  const UsedEnvironment used = find_environment(run.artifact, circumstances.frameworks.get());
  const tuner::WorkerChoice worker = tuner::sections_of(spec).worker;
  const bool own = !worker.own.empty();
  if (used.recipe != nullptr) {
    auto words =
        tuner::python_arguments(used.environment, circumstances.frameworks->worker_folder(), used.recipe->worker);
    profile.training.artifact = used.environment.key;
    profile.training.recipe = used.recipe->name;
    profile.training.packages = used.environment.lock;
    profile.training.python = measure::to_text(used.environment.interpreter.version);
    profile.training.fix_ups = used.recipe->fix_ups;
    profile.training.program = words.front();
    profile.training.arguments.assign(words.begin() + 1, words.end());
  } else if (!own) {
    const std::string framework =
        tuner::framework_of({.recipe = worker.recipe, .answers = worker.answers}, profile.configuration);
    auto found = find_program(run, worker, framework, circumstances.builds_folder, profile.training);
    if (!found) return found;
    profile.training.libraries = libraries_of(profile.training.program);
  }
  auto launch = measure::launch_settings(profile.configuration, circumstances.machine);
  if (!launch) return std::unexpected(launch.error());
  profile.launch = used.recipe != nullptr
                       ? tuner::python_launch(*used.recipe, *std::move(launch), used.environment.folder)
                       : *std::move(launch);
  if (own) return use_own_command(worker.own, profile);
  return {};
}

/// Whether the image is the one that the run was in, as far as its command and the image's age tell.
bool is_image_of(const tuner::ContainerPlace& place, const space::Run& run) {
  // Such a runtime names an image by its content's id, which a new build changes; a folder keeps its name, and only its
  // age tells.
  if (place.runtime->keeps_images()) {
    const std::string& id = place.image.reference;
    return run.command.contains(id.substr(id.find(':') + 1));
  }
  std::error_code error;
  const auto written = std::filesystem::last_write_time(place.image.root.parent_path() / "manifest.json", error);
  const auto made = std::chrono::file_clock::to_sys(written);
  const fs::path& named = place.image.file.empty() ? place.image.root : place.image.file;
  return run.command.contains(named.string()) && (error || tuner::unix_ns_of(made) <= run.started_unix_ns);
}

/// The place that the profile's configuration names, prepared as for a run.
std::expected<tuner::ContainerPlace, std::string> place_here(const Profile& profile,
                                                             const ProfileCircumstances& circumstances) {
  tuner::PreparedWorker prepared;
  prepared.argv = {profile.training.program.string()};
  prepared.argv.insert(prepared.argv.end(), profile.training.arguments.begin(), profile.training.arguments.end());
  prepared.launch = profile.launch;
  if (const auto* frameworks = circumstances.frameworks.get(); frameworks != nullptr) {
    const measure::EnvironmentRecipe* recipe = frameworks->recipe(profile.training.recipe);
    if (recipe != nullptr && recipe->kind == measure::RecipeKind::Image) prepared.image = recipe->image;
    if (recipe != nullptr && recipe->kind == measure::RecipeKind::Native) {
      if (const auto library = frameworks->installed(recipe->name)) prepared.library = library->folder;
    }
  }
  tuner::Containment::Options options = circumstances.containers;
  options.data_folder = profile.training.data_folder;
  // What prepares a measurement prepares the profile, too: mounts and variables are those that were measured.
  tuner::Containment containment(std::move(options));
  if (auto done = containment.prepare(profile.configuration, prepared, {}); !done)
    return std::unexpected(done.error().reason);
  return *std::move(prepared.contained);
}

/// The container that the run was in, found again.
std::expected<void, std::string> use_container(const space::Run& run, const ProfileCircumstances& circumstances,
                                               Profile& profile) {
  if (container_of(profile).empty()) return {};
  const auto place = place_here(profile, circumstances);
  if (!place) return std::unexpected(place.error());
  if (!is_image_of(*place, run)) {
    return std::unexpected(fmt::format("the image {} is another one than was measured; '{}' measures it",
                                       place->image.name, tuner::command_text({"tune", "FILE"})));
  }
  profile.container = container_of_place(*place, place->runtime->version());
  return {};
}

}  // namespace

ProfileCircumstances present_circumstances(const space::Workload& workload, const std::filesystem::path& builds_folder,
                                           std::shared_ptr<const tuner::Frameworks> frameworks,
                                           tuner::Containment::Options containers) {
  return {.data_folder = tuner::find_installation().data_of(workload),
          .builds_folder = builds_folder,
          .frameworks = std::move(frameworks),
          .machine = measure::probe_launch_machine(),
          .containers = std::move(containers),
          .version = std::string(tuner::version()),
          .commit = std::string(tuner::commit()),
          .created_unix_ns = tuner::now_unix_ns()};
}

namespace {

/// A trial of the campaign, ready to be started: how it was measured, in what, and how long its steps took.
std::expected<Profile, std::string> profile_of_trial(const db::Store& store, const tuner::Answer& answer,
                                                     const db::StoredTrial& trial,
                                                     const ProfileCircumstances& circumstances) {
  const auto detail = store.load_trial(trial.id);
  const db::StoredRun* stored = measured_run(detail);
  if (stored == nullptr) return std::unexpected(fmt::format("trial {} has no run that ended well", trial.trial.number));
  const space::Run& run = stored->record.run;

  Profile profile = profile_of(answer, trial, detail);
  const std::string& fingerprint =
      stored->record.fingerprint.empty() ? answer.campaign.fingerprint : stored->record.fingerprint;
  auto machine = measured_on(store, fingerprint);
  if (!machine) return std::unexpected(machine.error());
  profile.measured_on = *std::move(machine);
  use_request(run, trial.trial.fidelity.steps, circumstances.data_folder, profile.training);
  if (auto used = use_program(run, answer.campaign.spec, circumstances, profile); !used)
    return std::unexpected(used.error());
  if (auto used = use_container(run, circumstances, profile); !used) return std::unexpected(used.error());
  if (has_own_command(profile)) note_sources(run, profile);
  profile.step = step_of(store, answer.campaign, detail, profile);
  profile.peak_bytes = trial.trial.peak_bytes;
  profile.repeat = run.command;
  profile.nocturne_version = circumstances.version;
  profile.nocturne_commit = circumstances.commit;
  profile.created = utc(circumstances.created_unix_ns);
  return profile;
}

}  // namespace

std::expected<Profile, std::string> make_profile(const db::Store& store, const tuner::Answer& answer,
                                                 const ProfileCircumstances& circumstances) {
  if (!answer.best)
    return std::unexpected(fmt::format("campaign '{}' has no trial that ended well", answer.campaign.name));
  auto made = profile_of_trial(store, answer, *answer.best, circumstances);
  if (!made) return made;
  Profile& profile = *made;
  if (answer.baseline && answer.baseline->id != answer.best->id) {
    // One whose build or image is gone can be exported all the same: there is then nothing to fall back to.
    if (auto of_default = profile_of_trial(store, answer, *answer.baseline, circumstances))
      profile.of_default.push_back(*std::move(of_default));
  }
  // One check for what is written and what is read: a profile that cannot be read back is not handed out.
  auto checked = profile_from_json(to_json(profile));
  if (checked && needs_module(*checked))
    checked->module = module_files(tuner::find_installation().source_root / "kernels");
  return checked;
}

std::expected<void, std::string> put_into_container(Profile& profile, const ProfileCircumstances& circumstances) {
  const auto place = place_here(profile, circumstances);
  if (!place) return std::unexpected(place.error());
  profile.container = container_of_place(*place, place->runtime->version());
  return {};
}

std::expected<WrittenProfile, std::string> write_profile(const std::filesystem::path& folder, const Profile& profile) {
  WrittenProfile written;
  for (const auto& [name, path] : {std::pair{"json", &written.json}, {"env", &written.env}, {"sh", &written.sh}}) {
    const Exporter* exporter = find_exporter(name);
    *path = folder / fmt::format("{}.{}", file_stem(profile.campaign), exporter->extension);
    if (auto done = space::write_file(*path, exporter->text(profile), exporter->executable); !done)
      return std::unexpected(done.error());
  }
  return written;
}

}  // namespace nocturne::deploy
