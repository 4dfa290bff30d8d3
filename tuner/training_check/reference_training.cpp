#include "tuner/training_check/reference_training.hpp"

#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "measure/gate/first_losses.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/write_file.hpp"

namespace nocturne::tuner {
namespace {

constexpr int kLossesVersion = 1;
constexpr std::size_t kLargestLossesFile = 1 << 20;
constexpr std::chrono::minutes kReferenceDeadline{10};
/// First seed of the band; far from the seed of what is checked.
constexpr std::uint64_t kFirstBandSeed = 1001;

using SeedLosses = std::vector<std::vector<double>>;

space::Configuration at_batch(std::int64_t batch) {
  space::Configuration configuration;
  configuration.set("batch", space::Value(batch));
  return configuration;
}

bool are_losses(const nlohmann::json& list) {
  if (!list.is_array() || list.size() != kBandSteps) return false;
  for (const nlohmann::json& loss : list)
    if (!loss.is_number() || !std::isfinite(loss.get<double>())) return false;
  return true;
}

/// Those of the first seeds, as far as they are there; none where the file is another's, or torn.
SeedLosses read_losses(const std::filesystem::path& file, const std::string& key) {
  SeedLosses losses;
  const auto text = space::read_file(file, kLargestLossesFile + 1);
  if (!text || text->size() > kLargestLossesFile) return losses;
  const nlohmann::json document = nlohmann::json::parse(*text, nullptr, false);
  if (!document.is_object()) return losses;
  const nlohmann::json version = document.value("nocturne_reference_losses", nlohmann::json());
  const nlohmann::json whose = document.value("key", nlohmann::json());
  if (version != nlohmann::json(kLossesVersion) || whose != nlohmann::json(key)) return losses;
  const nlohmann::json seeds = document.value("losses", nlohmann::json());
  if (!seeds.is_array()) return losses;
  for (const nlohmann::json& each : seeds) {
    if (losses.size() == kBandReferences || !are_losses(each)) break;
    losses.push_back(each.get<std::vector<double>>());
  }
  return losses;
}

ReferenceFailure failure_of(const space::Run& run) {
  if (run.outcome == space::Outcome::Killed) return {.reason = "interrupted", .interrupted = true};
  return {.reason = fmt::format("the reference ended as {}: {} (its log: {})", space::to_text(run.outcome), run.reason,
                                (std::filesystem::path(run.folder) / "log.txt").string())};
}

}  // namespace

CheckRuns::~CheckRuns() {
  std::error_code ignored;
  for (const std::filesystem::path& folder : folders_) std::filesystem::remove_all(folder, ignored);
}

std::expected<PreparedWorker, PreparationFailure> CheckRuns::prepare(const space::Configuration& configuration) {
  return interruption_.prepare_past_suspensions(
      [&](std::stop_token stop) { return executor_.prepare(configuration, std::move(stop)); });
}

std::expected<PreparedWorker, PreparationFailure> CheckRuns::prepare_reference(
    const space::Configuration& configuration) {
  return interruption_.prepare_past_suspensions(
      [&](std::stop_token stop) { return executor_.prepare_reference(configuration, std::move(stop)); });
}

space::Run CheckRuns::train(const space::Configuration& configuration, const PreparedWorker& prepared,
                            const RunOrder& order) {
  for (;;) {
    measure::RunPlan plan = executor_.plan(configuration, prepared, order);
    if (plan.request.gate && plan.request.gate->write)
      plan.request.gate->write = (plan.folder / *plan.request.gate->write).string();
    const auto before = interruption_.suspensions();
    const auto flight = interruption_.begin();
    // A check can be given up without loss: the first Ctrl-C ends it.
    space::Run run = executor_.run(plan, {.stop = interruption_.waiting_token()});
    if (run.outcome == space::Outcome::Ok || run.outcome == space::Outcome::Unsupported)
      folders_.push_back(plan.folder);
    if (run.outcome != space::Outcome::Killed || !interruption_.again_after_suspension(before)) return run;
  }
}

std::expected<PreparedWorker, ReferenceFailure> ReferenceTraining::prepared(std::int64_t batch) {
  auto made = runs_.prepare_reference(at_batch(batch));
  if (made) return *std::move(made);
  return std::unexpected(ReferenceFailure{.reason = "the reference cannot be prepared: " + made.error().reason,
                                          .interrupted = made.error().outcome == space::Outcome::Killed});
}

std::expected<const ReferenceTraining::Exact*, ReferenceFailure> ReferenceTraining::exact(std::int64_t batch,
                                                                                          std::int64_t steps) {
  if (const auto known = exact_.find(batch); known != exact_.end()) return &known->second;
  const auto ready = prepared(batch);
  if (!ready) return std::unexpected(ready.error());
  const std::string name = "initial-state";
  Exact made;
  made.run = runs_.train(at_batch(batch), *ready,
                         {.purpose = space::Purpose::Gate,
                          .steps = steps,
                          .seed = kCheckedSeed,
                          .deadline = kReferenceDeadline,
                          .gate = protocol::GateRequest{.steps = steps, .write = name}});
  if (made.run.outcome != space::Outcome::Ok) return std::unexpected(failure_of(made.run));
  made.initial = (std::filesystem::path(made.run.folder) / name).string();
  return &exact_.emplace(batch, std::move(made)).first->second;
}

std::expected<const SeedLosses*, ReferenceFailure> ReferenceTraining::losses(std::int64_t batch) {
  if (const auto known = losses_.find(batch); known != losses_.end()) return &known->second;
  const auto ready = prepared(batch);
  if (!ready) return std::unexpected(ready.error());
  const std::string key =
      space::sha256(fmt::format("mnist_cnn mnist adadelta\n{}\n{}\nbatch {}, {} steps, seeds from {}", ready->artifact,
                                options_.machine, batch, kBandSteps, kFirstBandSeed));
  const std::filesystem::path file =
      options_.kept.empty() ? std::filesystem::path()
                            : options_.kept / fmt::format("losses-batch-{}-{}.json", batch, key.substr(0, 12));
  SeedLosses losses = file.empty() ? SeedLosses() : read_losses(file, key);
  if (losses.size() < kBandReferences) {
    say(fmt::format("the reference trains {} steps of {} seeds at batch {}, once for this machine: the band",
                    kBandSteps, kBandReferences - losses.size(), batch));
  }
  while (losses.size() < kBandReferences) {
    const space::Run run = runs_.train(at_batch(batch), *ready,
                                       {.purpose = space::Purpose::Gate,
                                        .steps = static_cast<std::int64_t>(kBandSteps),
                                        .seed = kFirstBandSeed + losses.size(),
                                        .deadline = kReferenceDeadline});
    if (run.outcome != space::Outcome::Ok) return std::unexpected(failure_of(run));
    auto first = measure::first_losses(run, kBandSteps);
    if (!first) return std::unexpected(ReferenceFailure{.reason = "the reference: " + first.error()});
    losses.push_back(*std::move(first));
    const nlohmann::json document = {
        {"nocturne_reference_losses", kLossesVersion}, {"key", key}, {"batch", batch}, {"losses", losses}};
    if (file.empty()) continue;
    // Each seed at once: who interrupts keeps what there is.
    if (const auto written = space::write_file(file, document.dump() + "\n"); !written)
      say("the reference's losses are not kept: " + written.error());
  }
  return &losses_.emplace(batch, std::move(losses)).first->second;
}

}  // namespace nocturne::tuner
