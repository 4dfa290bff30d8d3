#include "tuner/campaign/preflight/preflight.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/search_options.hpp"

namespace nocturne::tuner {
namespace {

/// The batch of a configuration; empty where it has none that is a whole number.
std::optional<std::int64_t> batch_of(const space::Space& space, const space::Configuration& configuration) {
  const space::Value* value = configuration.find(roles_of(space).batch);
  const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

/// The run is no trial's, so nobody would clean its folder away; what mattered of it is kept in the record.
void remove_folder(const measure::RunPlan& plan) {
  std::error_code ignored;
  if (plan.folder.is_absolute() && plan.folder.filename() == plan.id) std::filesystem::remove_all(plan.folder, ignored);
}

}  // namespace

std::string to_text(const PreflightReport& report) {
  std::string text = fmt::format("The preflight: {} of {} software stack{} passed",
                                 report.stacks - report.failed_stacks, report.stacks, report.stacks == 1 ? "" : "s");
  if (report.failed_stacks == 1) text += ", 1 failed";
  if (report.failed_stacks > 1) text += fmt::format(", {} failed", report.failed_stacks);
  if (!report.default_goes)
    text += "; the default's own software stack failed, so that there will be nothing to compare with";
  if (report.not_tried > 0) text += fmt::format("; {} were not tried for want of time", report.not_tried);
  if (!report.left_out.empty()) text += "; " + report.left_out;
  return text;
}

PreflightReport Preflight::run(const Options& options) {
  const PreflightStacks stacks = preflight_stacks(session_.spec.space);
  const auto stored = session_.store.preflights(session_.campaign);
  std::map<std::string, space::Outcome> known;
  for (const db::PreflightRecord& record : stored) known[record.stack.canonical()] = record.outcome;

  const auto began = session_.clock.steady();
  const auto count = static_cast<std::int64_t>(stacks.stacks.size());
  PreflightReport report{.left_out = stacks.left_out};
  for (std::int64_t index = 0; index < count; ++index) {
    const PreflightStack& stack = stacks.stacks[static_cast<std::size_t>(index)];
    const auto before = known.find(stack.values.canonical());
    const bool settled = before != known.end() && (before->second == space::Outcome::Ok || !options.again);
    space::Outcome outcome = settled ? before->second : space::Outcome::Ok;
    if (!settled) {
      if (session_.interruption.requested()) {
        report.interrupted = true;
        return report;
      }
      if (options.limit && session_.clock.steady() - began > *options.limit) {
        ++report.not_tried;
        continue;
      }
      session_.observer.preflight(index, count, stack.values);
      auto suspensions = session_.interruption.suspensions();
      auto record = run_preflight(stack);
      while (!record && session_.interruption.again_after_suspension(suspensions)) {
        suspensions = session_.interruption.suspensions();
        record = run_preflight(stack);
      }
      if (!record) {
        report.interrupted = true;
        return report;
      }
      outcome = record->outcome;
      session_.store.save_preflight(session_.campaign, *record);
      session_.observer.preflighted(index, count, *record);
    }
    ++report.stacks;
    if (outcome == space::Outcome::Ok) continue;
    ++report.failed_stacks;
    if (index == 0) report.default_goes = false;
  }
  return report;
}

std::optional<db::PreflightRecord> Preflight::run_preflight(const PreflightStack& stack) {
  const auto slot = session_.take_slot();
  if (!slot) return std::nullopt;
  db::PreflightRecord record{.stack = stack.values};
  for (const space::Configuration& configuration : stack.ladder) {
    const bool last = &configuration == &stack.ladder.back();
    if (record.too_large.size() >= kMostTooLarge && !last) continue;
    record.configuration = configuration;
    const auto began = session_.clock.steady();
    const auto prepared = session_.executor.prepare(configuration, session_.interruption.token());
    record.prepare += session_.clock.steady() - began;
    if (!prepared) {
      if (prepared.error().outcome == space::Outcome::Killed) return std::nullopt;
      if (auto no_room = no_room_for(prepared.error())) throw *std::move(no_room);
      record.outcome = prepared.error().outcome;
      record.reason = prepared.error().reason;
      record.log_tail = prepared.error().log_tail;
      return record;
    }
    if (prepared->build) session_.store.save_build(*prepared->build);
    measure::RunPlan planned;
    const auto plan = [&] {
      planned = session_.executor.plan(
          configuration, *prepared,
          {.purpose = space::Purpose::Gate, .steps = kPreflightSteps, .seed = session_.spec.run.seed, .deadline = {}});
      planned.request.steps_per_sample = 1;
      return planned;
    };
    const auto forget = [&](const space::Run&) { remove_folder(planned); };
    const space::Run run = session_.run(plan, forget);
    remove_folder(planned);
    if (run.outcome == space::Outcome::Killed) return std::nullopt;
    record.outcome = run.outcome;
    record.reason = run.reason;
    record.train = run.wall;
    record.log_tail = run.outcome == space::Outcome::Ok ? std::string() : run.log_tail;
    const auto batch = batch_of(session_.spec.space, configuration);
    if (run.outcome != space::Outcome::OutOfMemory || !batch || last) break;
    record.too_large.push_back(*batch);
  }
  return record;
}

}  // namespace nocturne::tuner
