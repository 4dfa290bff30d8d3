#include "tuner/roofline/peak_figures.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace nocturne::tuner {
namespace {

constexpr std::int64_t kUsualBatch = 128;  // for configurations without a batch size: the same for all of them

bool is_on_gpu(const space::Configuration& configuration) {
  const std::string device = configuration.text_of("device");
  return configuration.text_of("framework") == "cudnn" || device.starts_with("cuda") || device.starts_with("gpu");
}

TrainingStep training_step(const space::Configuration& configuration, std::int64_t batch,
                           const std::string& optimizer) {
  TrainingStep step{.batch = std::max<std::int64_t>(1, configuration.integer_of("batch").value_or(batch)),
                    .threads = static_cast<int>(std::clamp<std::int64_t>(
                        configuration.integer_of("threads").value_or(0), 0, std::int64_t{1} << 20)),
                    .optimizer = optimizer};
  if (const std::string precision = configuration.text_of("precision"); !precision.empty()) step.precision = precision;
  return step;
}

}  // namespace

std::expected<PeakFigures, std::string> PeakFigures::make(const nlohmann::json& figures, const nlohmann::json& fields,
                                                          const nlohmann::json& description,
                                                          const std::string& optimizer) {
  auto machine = MachineFigures::from_json(figures, fields);
  if (!machine) return std::unexpected(machine.error());
  auto network = network_work(description);
  if (!network) return std::unexpected(network.error());
  return PeakFigures{
      .machine = *std::move(machine),
      .network = *std::move(network),
      .optimizer = optimizer,
      .document = {{"figures", figures}, {"fields", fields}, {"network", description}, {"optimizer", optimizer}}};
}

std::expected<PeakFigures, std::string> PeakFigures::from_json(const nlohmann::json& document) {
  if (!document.is_object() || !document.contains("figures") || !document.contains("network"))
    return std::unexpected("what the campaign knew of its machine cannot be read");
  const nlohmann::json& optimizer = document.value("optimizer", nlohmann::json());
  return make(document.at("figures"), document.value("fields", nlohmann::json()), document.at("network"),
              optimizer.is_string() ? optimizer.get<std::string>() : std::string());
}

std::expected<StepBound, std::string> PeakFigures::bound(const space::Configuration& configuration,
                                                         std::int64_t batch) const {
  const TrainingStep step = training_step(configuration, batch, optimizer);
  if (!is_on_gpu(configuration)) return step_bound(network, machine, step);
  if (machine.gpus.empty()) return std::unexpected("its GPU was not measured");
  return step_bound(network, machine.of_gpu(0), step);
}

std::optional<PeakFigures> stored_peaks(const db::Store& store, const space::Fingerprint& fingerprint,
                                        const space::Workload& workload) {
  const auto figures = store.machine_figures(figures_key(fingerprint));
  const auto description = store.network(workload.network);
  if (!figures || !description) return std::optional<PeakFigures>();
  auto peaks = PeakFigures::make(figures->figures, figures->fields, *description, workload.optimizer);
  return peaks ? std::optional<PeakFigures>(*std::move(peaks)) : std::nullopt;
}

std::optional<PeakFigures> peaks_of_campaign(const db::Store& store, db::CampaignId campaign) {
  const auto document = store.peaks(campaign);
  if (!document) return std::optional<PeakFigures>();
  auto peaks = PeakFigures::from_json(*document);
  return peaks ? std::optional<PeakFigures>(*std::move(peaks)) : std::nullopt;
}

search::WorkBound work_bound(std::optional<PeakFigures> peaks) {
  if (!peaks) return {};
  const auto shared = std::make_shared<const PeakFigures>(*std::move(peaks));
  return {.parameters = {"framework", "device", "precision", "batch", "threads"},
          .seconds_an_example = [shared](const space::Configuration& configuration) {
            const auto batch = configuration.integer_of("batch").value_or(kUsualBatch);
            auto bound = shared->bound(configuration, kUsualBatch);
            if (!bound) {
              space::Configuration plain = configuration;
              for (const char* name : {"framework", "device", "precision"}) plain.erase(name);
              bound = shared->bound(plain, kUsualBatch);
            }
            return bound ? bound->seconds / static_cast<double>(std::max<std::int64_t>(1, batch)) : 0;
          }};
}

}  // namespace nocturne::tuner
