#include "tuner/cli/output/comparison_page.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;
using report::SideFacts;
using tuner::StoredGain;

constexpr std::size_t kColumnReasonWidth = 40;  // in a column; whole below the table

std::string timed_text(const report::MeasuredTime& timed) {
  return timed.standard_error > 0 ? seconds_with_error(timed.seconds, timed.standard_error)
                                  : seconds_text(timed.seconds);
}

std::string verdict_text(const std::string& verdict) {
  if (verdict == "faster") return "FASTER";
  if (verdict == "slower") return "SLOWER";
  return verdict == "same" ? "SAME" : "UNDECIDED";
}

Style verdict_style(const std::string& verdict) {
  if (verdict == "faster") return Style::Good;
  return verdict == "slower" ? Style::Bad : Style::Warning;
}

/// Parameters whose values are not the same everywhere, by name.
std::set<std::string> differing(const ComparisonPage& page) {
  std::set<std::string> names;
  for (const ComparedSide& side : page.sides) {
    for (const auto& [name, value] : side.facts.configuration.values()) {
      for (const ComparedSide& other : page.sides) {
        const space::Value* there = other.facts.configuration.find(name);
        if (there == nullptr || *there != value) names.insert(name);
      }
    }
  }
  return names;
}

std::string condition_text(const SideFacts& facts) {
  if (!facts.trial) return "not measured";
  if (facts.trained()) return fmt::format("trial {}", facts.trial->trial.number);
  return fmt::format("trial {}: {}: {}", facts.trial->trial.number, space::to_text(facts.trial->trial.outcome),
                     one_line(facts.trial->trial.reason));
}

/// One row a fact; what is not known of a side is a dash.
class FactTable {
 public:
  explicit FactTable(const ComparisonPage& page) : page_(page), table_(columns(page)) {}

  void add(const std::string& name, const std::function<Cell(const ComparedSide&)>& cell) {
    std::vector<Cell> cells = {Cell(name)};
    for (const ComparedSide& side : page_.sides) cells.push_back(cell(side));
    table_.add(std::move(cells));
  }
  /// Adds a line of those that trained.
  void add_measured(const std::string& name, const std::function<std::string(const SideFacts&)>& text) {
    add(name,
        [&](const ComparedSide& side) { return Cell(side.facts.trained() ? text(side.facts) : std::string("–")); });
  }
  void print(const Context& context) const { table_.print(context); }

 private:
  static std::vector<Column> columns(const ComparisonPage& page) {
    std::vector<Column> columns = {{""}};
    for (std::size_t i = 0; i < page.sides.size(); ++i)
      columns.push_back({std::string(1, static_cast<char>('A' + i)) + (i == 0 ? " (reference)" : "")});
    return columns;
  }
  const ComparisonPage& page_;
  Table table_;
};

Cell gain_cell(const ComparedSide& side) {
  if (side.gain) return {verdict_text(side.gain->verdict), verdict_style(side.gain->verdict)};
  return Cell(side.no_gain.empty() ? "" : side.no_gain);
}

void add_facts(FactTable& table, const ComparisonPage& page) {
  for (const double epochs : page.objective.epochs) {
    table.add_measured(horizon_text(page.objective, epochs), [epochs](const SideFacts& facts) {
      const auto found = std::ranges::find(facts.times, epochs, &report::HorizonTime::epochs);
      return found == facts.times.end() ? std::string("–") : timed_text(found->time);
    });
  }
  table.add_measured("first step", [](const SideFacts& facts) { return seconds_text(facts.first_step_s); });
  table.add_measured("steady step", [](const SideFacts& facts) { return timed_text(facts.steady_step); });
  table.add_measured("memory", [](const SideFacts& facts) {
    return facts.trial->trial.peak_bytes ? bytes_text(*facts.trial->trial.peak_bytes) : std::string("–");
  });
  table.add_measured("accuracy", [](const SideFacts& facts) {
    return facts.accuracy ? fmt::format("{:.2f} % after {} epoch{}", 100 * facts.accuracy->accuracy,
                                        facts.accuracy_epochs, facts.accuracy_epochs == 1 ? "" : "s")
                          : std::string("–");
  });
}

json side_json(const ComparedSide& side) {
  const SideFacts& facts = side.facts;
  json row = {{"word", side.word},
              {"configuration", facts.configuration.to_json()},
              {"trial", nullptr},
              {"outcome", nullptr},
              {"reason", ""},
              {"times", json::array()},
              {"first_step_s", nullptr},
              {"steady_step_s", nullptr},
              {"peak_bytes", nullptr},
              {"accuracy", nullptr},
              {"accuracy_epochs", facts.accuracy_epochs},
              {"gain", gain_json(side.gain)},
              {"no_gain", side.no_gain}};
  if (!facts.trial) return row;
  const space::Trial& trial = facts.trial->trial;
  row["trial"] = trial.number;
  row["outcome"] = space::to_text(trial.outcome);
  row["reason"] = trial.reason;
  if (trial.peak_bytes) row["peak_bytes"] = *trial.peak_bytes;
  if (facts.accuracy) row["accuracy"] = facts.accuracy->accuracy;
  if (!facts.trained()) return row;
  for (const report::HorizonTime& each : facts.times) {
    row["times"].push_back(
        {{"epochs", each.epochs}, {"seconds", each.time.seconds}, {"standard_error", each.time.standard_error}});
  }
  row["first_step_s"] = facts.first_step_s;
  row["steady_step_s"] = {{"seconds", facts.steady_step.seconds}, {"standard_error", facts.steady_step.standard_error}};
  return row;
}

}  // namespace

std::string gain_text(const StoredGain& gain) {
  // Two pairs that differ leave an interval without an upper end that would say anything.
  constexpr double kBeyondTelling = 100'000;
  const std::string high = gain.high_percent > kBeyondTelling ? fmt::format("over +{:.0f}", kBeyondTelling)
                                                              : fmt::format("{:+.1f}", gain.high_percent);
  return fmt::format("{:+.1f} % ({:+.1f} to {} %), {} pairs", gain.gain_percent, gain.low_percent, high, gain.pairs);
}

json gain_json(const std::optional<StoredGain>& gain) {
  if (!gain) return nullptr;
  return {{"verdict", gain->verdict},         {"percent", gain->gain_percent},
          {"low_percent", gain->low_percent}, {"high_percent", gain->high_percent},
          {"confidence", gain->confidence},   {"pairs", gain->pairs},
          {"epochs", gain->epochs},           {"role", gain->role}};
}

void print_comparison(const Context& context, const ComparisonPage& page) {
  std::ostream& out = *context.out;
  const bool colour = context.colour_out();
  const auto gain = std::ranges::find_if(page.sides, [](const ComparedSide& side) { return side.gain.has_value(); });
  const std::string intervals =
      gain == page.sides.end() ? "" : fmt::format(": gains with {:.0f} % intervals", 100 * gain->gain->confidence);
  const std::string title = fmt::format("{}, generation {}{}", page.campaign.name, page.campaign.generation, intervals);
  out << coloured(title, Style::Strong, colour) << '\n';
  const auto names = differing(page);
  FactTable table(page);
  table.add("",
            [](const ComparedSide& side) { return Cell(shortened(condition_text(side.facts), kColumnReasonWidth)); });
  for (const std::string& name : names) {
    table.add(name, [&name](const ComparedSide& side) {
      return Cell(side.facts.configuration.text_of(name, "–"), Style::Strong);
    });
  }
  add_facts(table, page);
  const double primary = page.objective.primary;
  table.add("for " + horizon_text(page.objective, primary), gain_cell);
  table.add("", [](const ComparedSide& side) { return Cell(side.gain ? gain_text(*side.gain) : ""); });
  table.print(context);

  space::Configuration same = page.sides.front().facts.configuration;
  for (const std::string& name : names) same.erase(name);
  if (!same.empty()) out << "The same everywhere: " << one_line(settings_line(same)) << '\n';
  for (std::size_t i = 0; i < page.sides.size(); ++i) {
    const std::string condition = condition_text(page.sides[i].facts);
    if (display_width(condition) <= kColumnReasonWidth) continue;
    out << fmt::format("{}: {}\n", static_cast<char>('A' + i), condition);
  }
}

json comparison_json(const ComparisonPage& page) {
  json sides = json::array();
  for (const ComparedSide& side : page.sides) sides.push_back(side_json(side));
  return {{"campaign", page.campaign.name},
          {"generation", page.campaign.generation},
          {"epochs", page.objective.primary},
          {"sides", std::move(sides)}};
}

}  // namespace nocturne::cli
