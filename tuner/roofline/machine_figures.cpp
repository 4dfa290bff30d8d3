#include "tuner/roofline/machine_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

}  // namespace nocturne::tuner
