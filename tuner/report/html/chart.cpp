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
  return end ? json(*end) : json();
}

json axis_json(const Axis& axis) {
  return {{"title", axis.title},
          {"low", end_json(axis.low)},
          {"high", end_json(axis.high)},
          {"logarithmic", axis.logarithmic},
          {"whole", axis.whole}};
}

/// Seven digits are more than a pixel; JSON knows no infinity, and what is so far away lies outside of any chart.
double rounded(double value) {
  constexpr double kFarAway = 1e9;
  if (value == 0) return value;
  if (!std::isfinite(value)) return value < 0 ? -kFarAway : kFarAway;
  const double scale = std::pow(10.0, 6 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) ? std::round(value * scale) / scale : value;
}

json series_json(const Series& series) {
  json data = json::array();
  for (const Datum& each : series.data) {
    json datum = {rounded(each.at), rounded(each.low)};
    if (series.form == Form::Band || series.form == Form::Bars) datum.push_back(rounded(each.high));
    if (!each.text.empty()) datum.push_back(each.text);
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
    marks.push_back({{"at", each.at}, {"text", each.text}, {"vertical", each.vertical}});
  return {
      {"id", chart.id},          {"title", chart.title}, {"says", chart.says},          {"x", axis_json(chart.x)},
      {"y", axis_json(chart.y)}, {"rows", chart.rows},   {"series", std::move(series)}, {"marks", std::move(marks)}};
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
