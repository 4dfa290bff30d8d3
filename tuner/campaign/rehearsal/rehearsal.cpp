#include "tuner/campaign/rehearsal/rehearsal.hpp"

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

std::string to_text(const RehearsalReport& report) {
  std::string text = fmt::format("The rehearsal: {} of {} row{} go{}", report.rows - report.no_go, report.rows,
                                 report.rows == 1 ? "" : "s", report.rows == 1 ? "es" : "");
  if (report.no_go == 1) text += ", 1 is a no-go";
  if (report.no_go > 1) text += fmt::format(", {} are a no-go", report.no_go);
  if (!report.default_goes) text += "; the default's own row is a no-go, so that there will be nothing to compare with";
  if (report.not_tried > 0) text += fmt::format("; {} were not tried for want of time", report.not_tried);
  if (!report.left_out.empty()) text += "; " + report.left_out;
  return text;
}

db::Expected<RehearsalReport> Rehearsal::run(const Options& options) {
  const RehearsalRows rows = rehearsal_rows(sitting_.spec.space);
  const auto stored = sitting_.store.rehearsals(sitting_.campaign);
  if (!stored) return std::unexpected(stored.error());
  std::map<std::string, space::Outcome> known;
  for (const db::RehearsalRecord& record : *stored) known[record.row.canonical()] = record.outcome;

  const auto began = sitting_.clock.steady();
  const auto count = static_cast<std::int64_t>(rows.rows.size());
  RehearsalReport report{.left_out = rows.left_out};
  for (std::int64_t index = 0; index < count; ++index) {
    const RehearsalRow& row = rows.rows[static_cast<std::size_t>(index)];
    const auto before = known.find(row.values.canonical());
    const bool settled = before != known.end() && (before->second == space::Outcome::Ok || !options.again);
    space::Outcome outcome = settled ? before->second : space::Outcome::Ok;
    if (!settled) {
      if (sitting_.interruption.requested()) {
        report.interrupted = true;
        return report;
      }
      if (options.limit && sitting_.clock.steady() - began > *options.limit) {
        ++report.not_tried;
        continue;
      }
      sitting_.observer.rehearsing(index, count, row.values);
      auto suspensions = sitting_.interruption.suspensions();
      auto record = rehearse(row);
      while (record && !*record && sitting_.interruption.again_after_suspension(suspensions)) {
        suspensions = sitting_.interruption.suspensions();
        record = rehearse(row);
      }
      if (!record) return std::unexpected(record.error());
      if (!*record) {
        report.interrupted = true;
        return report;
      }
      outcome = (*record)->outcome;
      if (auto saved = sitting_.store.save_rehearsal(sitting_.campaign, **record); !saved) {
        return std::unexpected(saved.error());
      }
      sitting_.observer.rehearsed(index, count, **record);
    }
    ++report.rows;
    if (outcome == space::Outcome::Ok) continue;
    ++report.no_go;
    if (index == 0) report.default_goes = false;
  }
  return report;
}

db::Expected<std::optional<db::RehearsalRecord>> Rehearsal::rehearse(const RehearsalRow& row) {
  const auto slot = sitting_.take_slot();
  if (!slot) return std::nullopt;
  db::RehearsalRecord record{.row = row.values};
  for (const space::Configuration& configuration : row.ladder) {
    const bool last = &configuration == &row.ladder.back();
    if (record.too_large.size() >= kMostTooLarge && !last) continue;
    record.configuration = configuration;
    const auto began = sitting_.clock.steady();
    const auto prepared = sitting_.executor.prepare(configuration, sitting_.interruption.token());
    record.prepare += sitting_.clock.steady() - began;
    if (!prepared) {
      if (prepared.error().outcome == space::Outcome::Killed) return std::nullopt;
      if (auto no_room = no_room_for(prepared.error())) return std::unexpected(*std::move(no_room));
      record.outcome = prepared.error().outcome;
      record.reason = prepared.error().reason;
      record.log_tail = prepared.error().log_tail;
      return record;
    }
    if (prepared->build) {
      if (auto saved = sitting_.store.save_build(*prepared->build); !saved) return std::unexpected(saved.error());
    }
    measure::RunPlan planned;
    const auto plan = [&]() -> db::Expected<measure::RunPlan> {
      planned = sitting_.executor.plan(
          configuration, *prepared,
          {.purpose = space::Purpose::Gate, .steps = kRehearsalSteps, .seed = sitting_.spec.run.seed, .deadline = {}});
      planned.request.steps_per_sample = 1;
      return planned;
    };
    const auto forget = [&](const space::Run&) -> db::Expected<void> {
      remove_folder(planned);
      return {};
    };
    const auto ended = sitting_.run(plan, forget);
    remove_folder(planned);
    if (!ended) return std::unexpected(ended.error());
    const space::Run& run = *ended;
    if (run.outcome == space::Outcome::Killed) return std::nullopt;
    record.outcome = run.outcome;
    record.reason = run.reason;
    record.train = run.wall;
    record.log_tail = run.outcome == space::Outcome::Ok ? std::string() : run.log_tail;
    const auto batch = batch_of(sitting_.spec.space, configuration);
    if (run.outcome != space::Outcome::OutOfMemory || !batch || last) break;
    record.too_large.push_back(*batch);
  }
  return record;
}

}  // namespace nocturne::tuner
