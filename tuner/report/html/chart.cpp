#include "tuner/report/html/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "space/names.hpp"

namespace nocturne::report {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kHueNames = {"main", "other", "good", "warning", "extra", "faint"};
constexpr std::array<std::string_view, 5> kFormNames = {"points", "line", "steps", "band", "bars"};

json end_json(const std::optional<double>& end) {
  return end ? number_json(*end) : json();
}

json axis_json(const Axis& axis) {
  return {{"title", axis.title},
          {"low", end_json(axis.low)},
          {"high", end_json(axis.high)},
          {"logarithmic", axis.logarithmic},
          {"whole", axis.whole}};
}

json series_json(const Series& series) {
  json data = json::array();
  for (const Datum& each : series.data) {
    json datum = {number_json(each.at), number_json(each.low)};
    if (series.form == Form::Band || series.form == Form::Bars) datum.push_back(number_json(each.high));
    if (each.trial)
      datum.push_back(*each.trial);
    else if (!each.text.empty())
      datum.push_back(each.text);
    data.push_back(std::move(datum));
  }
  return {{"name", series.name},
          {"form", space::name_of(series.form, kFormNames)},
          {"hue", space::name_of(series.hue, kHueNames)},
          {"dashed", series.dashed},
          {"data", std::move(data)}};
}

}  // namespace

json to_json(const Chart& chart) {
  json series = json::array();
  for (const Series& each : chart.series) series.push_back(series_json(each));
  json marks = json::array();
  for (const Mark& each : chart.marks)
    marks.push_back({{"at", number_json(each.at)}, {"text", each.text}, {"vertical", each.vertical}});
  return {{"id", chart.id},     {"campaign", chart.campaign},  {"x", axis_json(chart.x)},  {"y", axis_json(chart.y)},
          {"rows", chart.rows}, {"series", std::move(series)}, {"marks", std::move(marks)}};
}

json number_json(double value) {
  constexpr int kDigits = 6;
  constexpr double kFarAway = 1e9;  // JSON knows no infinity, and this lies outside of any chart
  if (!std::isfinite(value)) return value < 0 ? -kFarAway : kFarAway;
  if (value == std::round(value) && std::abs(value) < kFarAway) return static_cast<std::int64_t>(value);
  const double scale = std::pow(10.0, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) ? std::round(value * scale) / scale : value;
}

bool spans_much(double least, double most) {
  constexpr double kMuch = 4;  // times as much: a quarter of a linear axis
  return least > 0 && most > kMuch * least;
}

std::string digits(double value) {
  if (!std::isfinite(value)) return "unbounded";
  const double size = std::abs(value);
  const int before = size > 0 ? static_cast<int>(std::floor(std::log10(size))) : 0;
  return fmt::format("{:.{}f}", value, size > 0 ? std::clamp(2 - before, 0, 9) : 0);
}

std::string signed_digits(double value) {
  return (value >= 0 ? "+" : "") + digits(value);
}

std::string outcome_words(space::Outcome outcome) {
  std::string text(space::to_text(outcome));
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace nocturne::report
