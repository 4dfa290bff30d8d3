#include "tuner/report/published_results.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace nocturne::report {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, PublishedKind>, 6> kKinds = {
    {{"faster", PublishedKind::Faster},
     {"same", PublishedKind::Same},
     {"far_behind", PublishedKind::FarBehind},
     {"first_epoch", PublishedKind::FirstEpoch},
     {"later_epochs", PublishedKind::LaterEpochs},
     {"interaction", PublishedKind::Interaction}}};

bool has_margin(PublishedKind kind) {
  return kind != PublishedKind::Faster && kind != PublishedKind::FirstEpoch;
}

ShippedAnswer read_shipped(const json& document) {
  return {.machine = document.at("machine").get<std::string>(),
          .percent = document.at("percent").get<double>(),
          .low_percent = document.at("low_percent").get<double>(),
          .high_percent = document.at("high_percent").get<double>(),
          .repetitions = document.at("repetitions").get<std::int64_t>(),
          .note = document.value("note", "")};
}

/// What a kind asks for. The error is what is wrong.
std::expected<void, std::string> read_sides(const json& document, PublishedResult& published) {
  for (const auto& [key, side] : {std::pair{"reference", &published.reference}, {"candidate", &published.candidate}}) {
    auto read = read_side(document.at(key));
    if (!read) return std::unexpected(fmt::format("{}: {}", key, read.error()));
    *side = std::move(*read);
    side->on_gpu = published.device == "gpu";
  }
  const bool from_hub = published.reference.source == "hub" || published.candidate.source == "hub";
  published.reference.in_container = published.candidate.in_container = from_hub;
  if (published.published_percent == 0.0 || published.reference == published.candidate)
    return std::unexpected("a published result says which of two different sides is faster");
  if (published.kind == PublishedKind::Interaction) {
    published.other_network = document.at("other_network").get<std::string>();
    if (published.other_network == published.network)
      return std::unexpected("an interaction is between two different networks");
  }
  return {};
}

std::expected<PublishedResult, std::string> read_published_result(const json& document) {
  PublishedResult published;
  try {
    published.id = document.at("id").get<std::string>();
    published.group = document.value("group", "");
    published.title = document.at("title").get<std::string>();
    published.sentence = document.at("sentence").get<std::string>();
    published.place = document.value("place", "");
    published.network = document.at("network").get<std::string>();
    published.device = document.at("device").get<std::string>();
    published.today = document.value("today", false);
    published.needs = document.value("needs", "");
    published.campaign = document.value("campaign", "");
    const auto name = document.value("kind", "faster");
    const auto* const kind = std::ranges::find(kKinds, name, &decltype(kKinds)::value_type::first);
    if (kind == kKinds.end()) return std::unexpected(fmt::format("there is no kind '{}'", name));
    published.kind = kind->second;
    if (has_margin(published.kind)) published.margin_percent = document.at("margin_percent").get<double>();
    if (document.contains("published_percent"))
      published.published_percent = document.at("published_percent").get<double>();
    for (const json& each : document.value("shipped", json::array())) published.shipped.push_back(read_shipped(each));
    if (!is_of_epochs(published.kind))
      if (auto sides = read_sides(document, published); !sides) return std::unexpected(sides.error());
  } catch (const json::exception& error) {
    return std::unexpected(std::string(error.what()));
  }
  return published;
}

}  // namespace

std::string_view to_text(PublishedKind kind) {
  return std::ranges::find(kKinds, kind, &decltype(kKinds)::value_type::second)->first;
}

std::string_view to_text(Reading reading) {
  return reading == Reading::Speed ? "speed" : "time saved";
}

double gain_percent(double published_percent, Reading reading) {
  if (reading == Reading::Speed) return published_percent;
  if (published_percent >= 100) return std::numeric_limits<double>::infinity();
  return 100 * (1 / (1 - published_percent / 100) - 1);
}

std::expected<std::vector<PublishedResult>, std::string> read_published_results(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array())
    return std::unexpected("an object with an array 'published results' was expected");
  std::vector<PublishedResult> published_results;
  for (const json& each : document["results"]) {
    auto published = read_published_result(each);
    if (!published)
      return std::unexpected(fmt::format("published result {}: {}", published_results.size(), published.error()));
    published_results.push_back(std::move(*published));
  }
  return published_results;
}

bool is_side(const PublishedResult& published, const PublishedSide& side, const space::Configuration& configuration,
             const FrameworkLabels& known) {
  if (!is_side(side, configuration, known)) return false;
  const space::Value* device = configuration.find("device");
  const std::string on = device == nullptr ? "cpu" : space::to_text(*device);
  return (on == "cuda" ? "gpu" : on) == published.device;  // the paper has one kind of GPU
}

bool differ_as_published(const PublishedResult& published, const space::Configuration& reference,
                         const space::Configuration& candidate, const FrameworkLabels& known) {
  return differ_as_sides(published.reference, published.candidate, reference, candidate, known);
}

}  // namespace nocturne::report
