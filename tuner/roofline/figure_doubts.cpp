#include "tuner/roofline/figure_doubts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

namespace nocturne::tuner {
namespace {

using nlohmann::json;

constexpr double kSameAgain = 0.1;     // two measurements of a peak that differ by less agree
constexpr double kLeastGain = 1.3;     // of two threads over one, as in kernels/machine/plausibility.hpp
constexpr double kSecondsOfOne = 2.0;  // of one figure, with one thread and with all

/// Null where it is no document of figures.
const json* list_of(const json& figures) {
  if (!figures.is_object()) return nullptr;
  const auto list = figures.find("measurements");
  return list != figures.end() && list->is_array() ? &*list : nullptr;
}

bool has_rate(const json& figure) {
  if (!figure.is_object() || !figure.contains("name") || figure.contains("absent")) return false;
  const auto most = figure.find("maximum");
  return figure.value("unit", json()) != "ns" && most != figure.end() && most->is_number() && most->get<double>() > 0;
}

bool is_doubtful(const json& figure) {
  return has_rate(figure) && figure.contains("doubt");
}

/// Measured before anybody looked whether that can be, and it cannot: an arithmetic peak of several threads that is
/// hardly above that of one.
bool was_never_doubted(const json& figure, const json& list) {
  if (!has_rate(figure) || figure.contains("tries") || !figure["name"].is_string()) return false;
  const std::string name = figure["name"].get<std::string>();
  if (!name.starts_with("fma_") || figure.value("threads", json(1)) == 1) return false;
  return std::ranges::any_of(list, [&](const json& one) {
    return has_rate(one) && one["name"] == name && one.value("threads", json(1)) == 1 &&
           figure["maximum"].get<double>() < kLeastGain * one["maximum"].get<double>();
  });
}

bool measures_the_same(const json& a, const json& b) {
  constexpr std::array kWhat = {"name", "threads", "node", "memory_node"};
  return std::ranges::all_of(kWhat, [&](const char* key) { return a.value(key, json()) == b.value(key, json()); });
}

std::int64_t tries_of(const json& figure) {
  const auto tries = figure.find("tries");
  return tries != figure.end() && tries->is_number_integer() ? tries->get<std::int64_t>() : 1;
}

json joined(const json& stored, const json& again) {
  const double before = stored["maximum"].get<double>(), now = again["maximum"].get<double>();
  const bool same = std::abs(now / before - 1) <= kSameAgain;
  json result = now > before ? again : stored;
  result["tries"] = tries_of(stored) + tries_of(again);
  if (same && (stored.contains("doubt") || again.contains("doubt"))) {
    result.erase("doubt");
    result["confirmed"] = true;
  }
  return result;
}

}  // namespace

std::vector<std::string> doubted_names(const json& figures) {
  std::vector<std::string> names;
  const json* list = list_of(figures);
  if (list == nullptr) return names;
  for (const json& figure : *list) {
    if (!(is_doubtful(figure) && figure["name"].is_string()) && !was_never_doubted(figure, *list)) continue;
    const std::string name = figure["name"].get<std::string>();
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

json with_measured_again(json stored, const json& again) {
  const json* list = list_of(again);
  if (list == nullptr || list_of(stored) == nullptr) return stored;
  for (json& figure : stored["measurements"]) {
    if (!has_rate(figure)) continue;
    const auto found = std::ranges::find_if(
        *list, [&](const json& other) { return has_rate(other) && measures_the_same(figure, other); });
    if (found != list->end()) figure = joined(figure, *found);
  }
  return stored;
}

json settled_by_earlier(json measured, const json& earlier) {
  const json* list = list_of(earlier);
  if (list == nullptr || list_of(measured) == nullptr) return measured;
  json telling = json::array();  // of the earlier ones: those that the doubtful ones are to be held against
  for (const json& figure : measured["measurements"]) {
    if (!is_doubtful(figure)) continue;
    std::ranges::copy_if(*list, std::back_inserter(telling),
                         [&](const json& other) { return has_rate(other) && measures_the_same(figure, other); });
  }
  return with_measured_again(std::move(measured), {{"measurements", std::move(telling)}});
}

std::expected<json, std::string> measure_doubted(const json& stored, MachineMeasuring measuring,
                                                 const std::stop_token& stop) {
  measuring.only = doubted_names(stored);
  if (measuring.only.empty()) return stored;
  measuring.seconds = kSecondsOfOne * static_cast<double>(measuring.only.size());
  measuring.disk.clear();
  const auto again = measure_machine(measuring, stop);
  if (!again) return std::unexpected(again.error());
  return with_measured_again(stored, *again);
}

}  // namespace nocturne::tuner
