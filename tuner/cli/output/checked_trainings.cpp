#include "tuner/cli/output/checked_trainings.hpp"

#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;
using tuner::TrainingVerdict;

Style style_of(TrainingVerdict verdict) {
  switch (verdict) {
    case TrainingVerdict::Right:
      return Style::Good;
    case TrainingVerdict::Wrong:
    case TrainingVerdict::Failed:
      return Style::Bad;
    case TrainingVerdict::Unsupported:
    case TrainingVerdict::Interrupted:
      break;
  }
  return Style::Faint;
}

double share_of_allowed(const measure::GateDifference& difference) {
  return difference.tolerance > 0 ? difference.size / difference.tolerance : 0;
}

std::string exact_text(const tuner::CheckedTraining& found) {
  if (!found.exact) return found.no_exact.empty() ? "" : "not known";
  return fmt::format("{:.2g} % of tolerance", 100 * share_of_allowed(found.exact->difference));
}

json exact_json(const tuner::CheckedTraining& found) {
  if (!found.exact) return nullptr;
  const measure::GateDifference& difference = found.exact->difference;
  return {{"agrees", found.exact->agrees},
          {"what", difference.what},
          {"step", difference.step},
          {"share_of_tolerance", share_of_allowed(difference)},
          {"sentence", difference.sentence}};
}

json band_json(const tuner::CheckedTraining& found) {
  if (!found.band) return nullptr;
  return {{"inside", found.band->inside}, {"share_of_band", found.band->largest}, {"step", found.band->step},
          {"steps", tuner::kBandSteps},   {"seeds", tuner::kBandReferences},      {"sentence", found.band->sentence}};
}

json accuracy_json(const tuner::CheckedTraining& found) {
  if (!found.accuracy) return nullptr;
  return {{"accuracy", found.accuracy->accuracy},
          {"examples", found.accuracy->examples},
          {"at_least", tuner::kLeastAccuracy}};
}

}  // namespace

std::string checked_row_name(const CheckedRow& row) {
  std::string text = row.name;
  for (const auto& [name, value] : row.varied.values()) text += fmt::format(", {}={}", name, space::to_text(value));
  return text;
}

void print_checked_rows(const Context& context, const std::vector<CheckedRow>& rows) {
  std::ostream& out = *context.out;
  Table table({{"environment"},
               {"exact steps", Align::Right},
               {"first loss", Align::Right},
               {"share of band", Align::Right},
               {"accuracy", Align::Right},
               {"took", Align::Right},
               {"verdict"}});
  for (const CheckedRow& row : rows) {
    const tuner::CheckedTraining& found = row.found;
    table.add({Cell(checked_row_name(row), Style::Strong), exact_text(found),
               found.first_loss ? fmt::format("{:.4f}", *found.first_loss) : std::string(),
               found.band ? fmt::format("{:.0f} %", 100 * found.band->largest) : std::string(),
               found.accuracy ? fmt::format("{:.2f} %", 100 * found.accuracy->accuracy) : std::string(),
               nanoseconds_text(row.took), Cell(std::string(to_text(found.verdict)), style_of(found.verdict))});
  }
  table.print(context);
  for (const CheckedRow& row : rows) {
    if (!row.found.reason.empty()) out << fmt::format("{}: {}\n", checked_row_name(row), one_line(row.found.reason));
    if (!row.found.no_exact.empty()) {
      out << fmt::format("{}: its exact steps are not compared: {}\n", checked_row_name(row),
                         one_line(row.found.no_exact));
    }
  }
}

json checked_rows_json(const std::vector<CheckedRow>& rows) {
  json document = json::array();
  for (const CheckedRow& row : rows) {
    const tuner::CheckedTraining& found = row.found;
    document.push_back({{"name", row.name},
                        {"varied", row.varied.to_json()},
                        {"verdict", to_text(found.verdict)},
                        {"good", found.verdict == TrainingVerdict::Right},
                        {"reason", found.reason},
                        {"exact", exact_json(found)},
                        {"no_exact", found.no_exact},
                        {"first_loss", found.first_loss ? json(*found.first_loss) : json(nullptr)},
                        {"band", band_json(found)},
                        {"accuracy", accuracy_json(found)},
                        {"seconds", std::chrono::duration<double>(row.took).count()},
                        {"ready", found.ready}});
  }
  return document;
}

}  // namespace nocturne::cli
