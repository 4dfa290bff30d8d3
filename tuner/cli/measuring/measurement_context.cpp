#include "tuner/cli/measuring/measurement_context.hpp"

#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/run/runner.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
MeasurementContext::MeasurementContext(const Context& context)
    : context_((prepare_to_run(context), context)),
      installation_(tuner::find_installation()),
      machine_(measure::probe_machine(installation_.machine_roots())),
      fingerprint_(measure::fingerprint_of(machine_)),
      frameworks_(frameworks_here(context, installation_)) {}

space::Facts MeasurementContext::facts() const {
  return measure::facts_of(machine_);
}

space::Fingerprint MeasurementContext::fingerprint_now() const {
  return measure::with_cheap_fields(fingerprint_, measure::probe_machine_cheaply(installation_.machine_roots()));
}

void MeasurementContext::look_again() {
  machine_ = measure::probe_machine(installation_.machine_roots());
  fingerprint_ = measure::fingerprint_of(machine_);
}

std::expected<tuner::CampaignSpec, std::string> MeasurementContext::parse(const nlohmann::json& document,
                                                                          const std::string& name) const {
  auto spec = tuner::parse_campaign(document.dump(), name, "/", facts(), frameworks_.get());
  if (!spec) return std::unexpected(one_line(tuner::to_sentence(spec.error())));
  measure_as_noise_says(*spec);
  return std::move(*spec);
}

void MeasurementContext::measure_as_noise_says(tuner::CampaignSpec& spec) const {
  std::error_code ignored;
  if (!std::filesystem::exists(context_.database(), ignored)) return;
  try {
    const auto known = db::Store::open(context_.database(), db::Mode::ReadOnly);
    tuner::measure_as_noise_says(known, spec, fingerprint_, machine_.allowed_cpus.size());
  } catch (const db::Error&) {
    // The usual way measures, too.
  }
}

measure::SweepReport MeasurementContext::open_store(const std::filesystem::path& database) {
  db::StoreOptions patience = store_options(context_);
  patience.waiting = [this, say = patience.waiting](const db::LockWait& wait) { return say(wait) && !interrupted(); };
  auto store = db::Store::open(database, db::Mode::ReadWrite, std::move(patience));
  tell_notice(context_, store);
  store_ = std::move(store);
  return measure::sweep();
}

void MeasurementContext::listen(SignalRules rules, tuner::DefaultSettings defaults) {
  if (!rules.say)
    rules.say = [this](const std::string& sentence) { *context_.err << '\n' + sentence + '\n' << std::flush; };
  signals_.emplace(interruption_, std::move(rules));
  display_.emplace(context_, &signals_->hung_up(), std::move(defaults));
}

void MeasurementContext::begin(const std::filesystem::path& database) {
  (void)open_store(database);
  listen();
}

tuner::LocalExecutor::Options MeasurementContext::executor_options() const {
  return cli::executor_options(context_, installation_, machine_, frameworks_);
}

std::unique_ptr<tuner::LocalExecutor> MeasurementContext::make_executor(const tuner::CampaignSpec& spec) const {
  return std::make_unique<tuner::LocalExecutor>(spec, executor_options());
}

tuner::Session MeasurementContext::make_session(const tuner::CampaignSpec& spec, tuner::Executor& executor) {
  return make_session(spec, executor, *display_);
}

tuner::Session MeasurementContext::make_session(const tuner::CampaignSpec& spec, tuner::Executor& executor,
                                                tuner::Observer& observer) {
  return {.spec = spec,
          .store = *store_,
          .executor = executor,
          .observer = observer,
          .clock = campaign_clock_,
          .interruption = interruption_,
          .fingerprint = fingerprint_,
          .images = tuner::data_state(spec.workload)};
}

std::optional<std::chrono::nanoseconds> time_limit(const Context& context, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return value_or_refuse(context, ExitCode::Usage, tuner::parse_duration(text), "--time: ");
}

std::filesystem::path verifications_database(const Context& context) {
  return context.data_folder() / "verifications.db";
}

std::string missing_supervisor() {
  if (!measure::find_supervisor().empty()) return {};
  return "the program nocturne-supervisor is not beside nocturne: build it, or name it in NOCTURNE_SUPERVISOR_PROGRAM";
}

void prepare_to_run(const Context& context) {
  if (const std::string missing = missing_supervisor(); !missing.empty())
    refuse(context, ExitCode::Unavailable, missing);
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
}

std::shared_ptr<const tuner::Frameworks> frameworks_here(const Context& context,
                                                         const tuner::Installation& installation) {
  return std::make_shared<const tuner::Frameworks>(
      tuner::Frameworks::Places{.source_root = installation.source_root,
                                .user_recipes = context.recipes_folder(),
                                .environments = context.environments_folder()});
}

tuner::Containment::Options containers_here(const Context& context, const tuner::Installation& installation) {
  return {.installation = installation,
          .runs_folder = context.runs_folder(),
          .images_folder = context.images_folder(),
          .recipes = {context.image_recipes_folder(), installation.source_root / "measure" / "container" / "images"}};
}

tuner::LocalExecutor::Options executor_options(const Context& context, const tuner::Installation& installation,
                                               const measure::MachineFacts& machine,
                                               std::shared_ptr<const tuner::Frameworks> frameworks) {
  return {.installation = installation,
          .builds_folder = context.builds_folder(),
          .runs_folder = context.runs_folder(),
          .database = context.database(),
          .caches_folder = context.caches_folder(),
          .images_folder = context.images_folder(),
          .user_images = context.image_recipes_folder(),
          .memory_bytes = tuner::usual_memory_limit(machine.usable_memory_bytes()),
          .frameworks = std::move(frameworks)};
}

void add_pair_options(CLI::App& subcommand, measure::ComparisonPolicy& policy) {
  const auto range = whole_number(2, 1000);
  add_value(subcommand, "--pairs", policy.pairs, "N",
            fmt::format("Pairs of fresh processes before the first look (default: {})", policy.pairs), range);
  add_value(subcommand, "--most-pairs", policy.most_pairs, "N",
            fmt::format("While undecided, up to this many (default: {})", policy.most_pairs), range);
}

}  // namespace nocturne::cli
