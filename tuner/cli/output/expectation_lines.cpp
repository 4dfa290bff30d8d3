#include "tuner/cli/output/expectation_lines.hpp"

#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "search/model/prediction.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

constexpr std::size_t kMostRows = 6;   // of parameters that matter; `model` has them all
constexpr double kLeastShare = 0.005;  // of the configurations: less would be told as 0 %

std::string names(const std::vector<tuner::Matter>& matters) {
  std::vector<std::string> all;
  for (const tuner::Matter& matter : matters) all.push_back(matter.parameter);
  return fmt::format("{}", fmt::join(all, ", "));
}

void add_row(Table& table, const std::string& name, const tuner::Matter& matter, const tuner::OtherValue& other) {
  std::string value = other.value;
  for (const auto& [parameter, along] : other.along) value += fmt::format(", {}={}", parameter, along);
  table.add({Cell("  " + name), Cell(value), Cell(change_text(other, matter.value))});
}

/// "framework jax-0.10, paddle-3.3; compiler clang++-19"
std::string ruled_out_text(const std::vector<tuner::NamedValue>& values) {
  std::string text;
  const std::string* last = nullptr;
  for (const auto& [parameter, value] : values) {
    if (last != nullptr && *last == parameter)
      text += ", " + value;
    else
      text += fmt::format("{}{} {}", last == nullptr ? "" : "; ", parameter, value);
    last = &parameter;
  }
  return text;
}

void print_much(const Context& context, const std::vector<tuner::Matter>& much) {
  *context.out << "Matters   the best with one other value, as the model expects it\n";
  Table table({{"  parameter"}, {"instead"}, {"would be", Align::Left, Fit::Wraps}});
  for (const tuner::Matter& matter : std::span(much).first(std::min(much.size(), kMostRows))) {
    add_row(table, matter.parameter, matter, matter.others.front());
    if (matter.others.size() > 1) add_row(table, "", matter, matter.others.back());
  }
  table.print(context);
}

void print_matters(const Context& context, const tuner::Matters& matters) {
  if (!matters.much.empty()) print_much(context, matters.much);
  const double percent = 100 * tuner::kHardly;
  if (!matters.hardly.empty()) {
    print_line(
        context, "Hardly",
        fmt::format("{}: no other value that was tried moves the best by {:g} %", names(matters.hardly), percent));
  }
  if (!matters.unsure.empty()) {
    print_line(context, "Unsure",
               fmt::format("{}: not known to within {:g} % ('{}' has the intervals)", names(matters.unsure), percent,
                           tuner::command_text({"model"})));
  }
  if (matters.ruled_out_share >= kLeastShare) {
    std::string text =
        fmt::format("{:.0f} % of the configurations cannot win and need no trial", 100 * matters.ruled_out_share);
    if (!matters.ruled_out.empty()) text += ", among them all with " + ruled_out_text(matters.ruled_out);
    print_line(context, "Ruled out", text);
  }
}

nlohmann::json list_json(const std::vector<tuner::Matter>& list) {
  nlohmann::json result = nlohmann::json::array();
  for (const tuner::Matter& matter : list)
    result.push_back({{"parameter", matter.parameter}, {"best", matter.value}, {"others", values_json(matter.others)}});
  return result;
}

nlohmann::json matters_json(const std::optional<tuner::Matters>& matters) {
  if (!matters) return nullptr;
  nlohmann::json ruled_out = nlohmann::json::array();
  for (const auto& [parameter, value] : matters->ruled_out)
    ruled_out.push_back({{"parameter", parameter}, {"value", value}});
  return {{"confidence", tuner::kPageConfidence}, {"much", list_json(matters->much)},
          {"hardly", list_json(matters->hardly)}, {"unsure", list_json(matters->unsure)},
          {"ruled_out", std::move(ruled_out)},    {"ruled_out_share", matters->ruled_out_share}};
}

}  // namespace

void print_expectations(const Context& context, const tuner::Expectations& expectations) {
  if (expectations.matters) print_matters(context, *expectations.matters);
  for (const std::string& each : expectations.without) print_line(context, "Note", each);
  if (expectations.continuing) print_line(context, "More time", tuner::to_text(*expectations.continuing));
}

std::string change_text(const tuner::OtherValue& other, const std::string& reference) {
  std::string text = search::model::contrast_text(other.change.mean, other.change.interval, reference);
  if (other.change.trials == 1) text += "; one trial";
  if (!other.measured) return text;
  const std::string how = other.pairs > 0 ? fmt::format("in {} pairs", other.pairs) : "measured once";
  text += fmt::format("; {}: {}", how, search::model::ratio_text(*other.measured));
  return text;
}

nlohmann::json values_json(std::span<const tuner::OtherValue> values) {
  nlohmann::json result = nlohmann::json::array();
  for (const auto& [value, change, measured, pairs, along] : values) {
    nlohmann::json others = nlohmann::json::array();
    for (const auto& [parameter, other] : along) others.push_back({{"parameter", parameter}, {"value", other}});
    result.push_back({{"value", value},
                      {"trials", change.trials},
                      {"log_ratio", change.mean},
                      {"low", change.interval.lower},
                      {"high", change.interval.upper},
                      {"measured_log_ratio", measured ? nlohmann::json(*measured) : nlohmann::json()},
                      {"pairs", pairs},
                      {"along", std::move(others)}});
  }
  return result;
}

nlohmann::json continuing_json(const std::optional<tuner::ValueOfContinuing>& continuing) {
  if (!continuing) return nullptr;
  return {{"seconds", continuing->time.count()},
          {"trials", continuing->expected_gain.trials},
          {"log_gain", continuing->expected_gain.mean}};
}

void add_expectations(nlohmann::json& document, const tuner::Expectations& expectations) {
  document["matters"] = matters_json(expectations.matters);
  document["continuing"] = continuing_json(expectations.continuing);
  document["without"] = expectations.without;
}

}  // namespace nocturne::cli
