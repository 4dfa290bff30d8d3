#include "tuner/roofline/described_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/document_positions.hpp"
#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/schema/machine_schema.hpp"

namespace nocturne::tuner {
namespace {

using nlohmann::json;

json figure(const std::string& name, const char* unit, int threads, double rate) {
  return {{"name", name}, {"unit", unit}, {"kernel", "described"}, {"threads", threads}, {"median", rate}};
}

/// With one thread and with all.
void add_rate(json& list, const std::string& name, const char* unit, int threads, const json& rate) {
  const auto all = rate.get<double>();
  if (threads > 1) list.push_back(figure(name, unit, 1, all / threads));
  list.push_back(figure(name, unit, threads, all));
}

json measurements_of(const json& described, int threads) {
  json list = json::array();
  for (const auto& [precision, rate] : described.at("peaks_gflops").items())
    add_rate(list, precision == "amx_bf16" ? precision : "fma_" + precision, "GFLOP/s", threads, rate);
  add_rate(list, "triad", "GB/s", threads, described.at("bandwidth_gb_s"));
  return list;
}

json figures_of(const json& described) {
  const int cpus = described.at("cpus").get<int>();
  json measurements = measurements_of(described, cpus), caches = json::array(), gpus = json::array();
  for (const json& each : described.value("caches", json::array())) {
    caches.push_back({{"level", each.at("level")}, {"bytes", each.at("bytes")}, {"sharers", each.value("sharers", 1)}});
    if (each.contains("bandwidth_gb_s"))
      add_rate(measurements, "triad_l" + each.at("level").dump(), "GB/s", cpus, each.at("bandwidth_gb_s"));
  }
  for (const json& each : described.value("gpus", json::array())) {
    gpus.push_back({{"name", each.at("name")},
                    {"memory_bytes", each.value("memory_bytes", 0)},
                    {"measurements", measurements_of(each, 1)}});
  }
  return {{"format", 1}, {"cpus", cpus}, {"caches", caches}, {"measurements", measurements}, {"gpus", gpus}};
}

}  // namespace

std::string described_key(std::string_view name) {
  return fmt::format("described {}", name);
}

std::expected<db::MachineFiguresRecord, std::vector<Problem>> read_described_machine(std::string_view text,
                                                                                     const std::string& file) {
  static const json schema = json::parse(machine_schema());
  auto document = read_document(text, file);
  if (!document) return std::unexpected(std::move(document.error()));
  Checks checks(*document);
  check_against_schema(schema, checks);
  if (!checks.empty()) return std::unexpected(checks.take());
  const json& described = document->value;
  const std::string name = described.at("machine");
  json fields = {{"system.host", name}};
  if (described.contains("cpu_model")) fields["cpu.model"] = described.at("cpu_model");
  if (described.contains("isa"))
    fields["cpu.isa"] = fmt::format("{}", fmt::join(described.at("isa").get<std::vector<std::string>>(), " "));
  return db::MachineFiguresRecord{
      .key = described_key(name), .fields = std::move(fields), .figures = figures_of(described)};
}

}  // namespace nocturne::tuner
