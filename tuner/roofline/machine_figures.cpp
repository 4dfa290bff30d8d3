#include "tuner/roofline/machine_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "space/digest.hpp"

namespace nocturne::tuner {
namespace {

using nlohmann::json;

// Not among them: libraries and compilers, which the figures do not use, and names.
constexpr std::array<std::string_view, 17> kFigureFields = {
    "cpu.model",         "cpu.signature", "cpu.microcode",     "cpu.isa",      "cpu.topology", "cpu.allowed",
    "cpu.quota",         "cpu.caches",    "cpu.numa_nodes",    "cpu.governor", "cpu.boost",    "memory",
    "memory.huge_pages", "system.kernel", "system.hypervisor", "gpu.models",   "gpu.driver"};

Figure read_figure(const json& each) {
  Figure figure{.name = each.at("name").get<std::string>(),
                .unit = each.at("unit").get<std::string>(),
                .kernel = each.value("kernel", ""),
                .threads = each.value("threads", 1),
                .working_set_bytes = each.value("working_set_bytes", std::int64_t{0}),
                .node = each.value("node", -1),
                .memory_node = each.value("memory_node", -1),
                .absent = each.value("absent", ""),
                .tries = each.value("tries", 1),
                .doubt = each.value("doubt", "")};
  if (!figure.absent.empty()) return figure;
  figure.median = each.at("median").get<double>();
  figure.minimum = each.value("minimum", figure.median);
  figure.maximum = each.value("maximum", figure.median);
  figure.relative_spread = each.value("relative_spread", 0.0);
  if (!(figure.maximum > 0) || !std::isfinite(figure.maximum)) figure.absent = "its rate is no positive number";
  if (!each.value("right", true)) figure.absent = "its loop computed a wrong result";
  return figure;
}

std::vector<Figure> read_figures(const json& list) {
  std::vector<Figure> figures;
  for (const json& each : list) figures.push_back(read_figure(each));
  return figures;
}

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

std::expected<MachineFigures, std::string> MachineFigures::from_json(const json& document, const json& fields) {
  MachineFigures result;
  try {
    result.figures = read_figures(document.at("measurements"));
    result.cpus = document.value("cpus", 0);
    for (const json& each : document.value("caches", json::array())) {
      result.caches.push_back({.level = each.at("level").get<int>(),
                               .bytes = each.at("bytes").get<std::int64_t>(),
                               .sharers = std::max(1, each.value("sharers", 1))});
    }
    for (const json& each : document.value("gpus", json::array())) {
      result.gpus.push_back({.name = each.at("name").get<std::string>(),
                             .memory_bytes = each.value("memory_bytes", std::int64_t{0}),
                             .figures = read_figures(each.at("measurements"))});
    }
    if (fields.is_object()) {
      const std::string isa = " " + fields.value("cpu.isa", "") + " ";
      result.has_tiles = isa.find(" amx_bf16 ") != std::string::npos;
    }
  } catch (const json::exception& error) {
    return std::unexpected(fmt::format("the machine's figures cannot be read: {}", error.what()));
  }
  for (const Figure& each : result.figures) result.cpus = std::max(result.cpus, each.threads);
  if (!result.rate("fma_f32", 0)) return std::unexpected("the machine's figures have no f32 peak");
  return result;
}

std::optional<double> MachineFigures::rate(std::string_view name, int threads) const {
  const Figure* one = nullptr;
  const Figure* all = nullptr;
  for (const Figure& each : figures) {
    if (each.name != name || !each.absent.empty() || each.node >= 0) continue;
    if (each.threads == 1) one = &each;
    if (all == nullptr || each.threads >= all->threads) all = &each;
  }
  if (all == nullptr) return std::nullopt;
  if (threads <= 0 || threads >= all->threads || one == nullptr) return all->maximum;
  return std::min(all->maximum, one->maximum * threads);
}

double MachineFigures::cache_bytes(std::size_t index, int threads) const {
  const CacheFigure& cache = caches[index];
  const int there = std::max(1, (cpus + cache.sharers - 1) / cache.sharers);
  const int used = threads <= 0 ? there : std::min(threads, there);
  return static_cast<double>(cache.bytes) * used;
}

MachineFigures MachineFigures::of_gpu(std::size_t index) const {
  MachineFigures result;
  result.cpus = 1;
  result.is_gpu = true;
  result.figures = gpus[index].figures;
  return result;
}

json figure_fields(const space::Fingerprint& fingerprint) {
  json fields = json::object();
  for (const std::string_view name : kFigureFields) {
    const space::FingerprintField* field = fingerprint.find(name);
    if (field != nullptr) fields[std::string(name)] = field->value;
  }
  return fields;
}

std::string figures_key(const space::Fingerprint& fingerprint) {
  return space::short_digest(figure_fields(fingerprint).dump(-1, ' ', false, json::error_handler_t::replace));
}

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
