#include "tuner/report/published_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/default_settings.hpp"

namespace nocturne::report {
namespace {

using nlohmann::json;

std::expected<PublishedResult, std::string> read_published_result(const json& document) {
  PublishedResult published;
  try {
    published.id = document.at("id").get<std::string>();
    published.title = document.at("title").get<std::string>();
    published.sentence = document.at("sentence").get<std::string>();
    published.network = document.at("network").get<std::string>();
    published.device = document.at("device").get<std::string>();
    const auto kind = document.value("kind", "faster");
    if (kind != "faster" && kind != "first_epoch") return std::unexpected(fmt::format("there is no kind '{}'", kind));
    published.kind = kind == "faster" ? PublishedKind::Faster : PublishedKind::FirstEpoch;
    if (published.kind == PublishedKind::FirstEpoch) return published;
    published.needs = document.value("needs", "");
    published.published_percent = document.at("published_percent").get<double>();
    for (const auto& [key, side] :
         {std::pair{"reference", &published.reference}, {"candidate", &published.candidate}}) {
      auto read = space::Configuration::from_json(document.at(key));
      if (!read) return std::unexpected(fmt::format("{}: {}", key, read.error()));
      *side = std::move(*read);
    }
  } catch (const json::exception& error) {
    return std::unexpected(std::string(error.what()));
  }
  if (published.published_percent == 0 || published.reference == published.candidate)
    return std::unexpected("a published result says which of two different sides is faster");
  return published;
}

bool is_none(const space::Value& value) {
  return value == space::Value(std::string("none"));
}

}  // namespace

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

bool is_side(const PublishedResult& published, const space::Configuration& side,
             const space::Configuration& configuration) {
  for (const auto& [name, value] : side.values()) {
    const space::Value* found = configuration.find(name);
    if (found == nullptr ? !is_none(value) : *found != value) return false;
  }
  const space::Value* device = configuration.find("device");
  const std::string on = device == nullptr ? "cpu" : space::to_text(*device);
  return (on == "cuda" ? "gpu" : on) == published.device;  // the paper has one kind of GPU
}

bool differ_as_published(const PublishedResult& published, const space::Configuration& reference,
                         const space::Configuration& candidate) {
  for (const tuner::Change& change : tuner::changes_between(reference, candidate)) {
    const bool is_published =
        published.reference.find(change.parameter) != nullptr || published.candidate.find(change.parameter) != nullptr;
    if (!is_published && change.from && change.to) return false;
  }
  return true;
}

std::string side_words(const space::Configuration& side, const space::Space* space) {
  std::string words;
  for (const auto& [name, value] : side.values()) {
    if (space != nullptr && space->find(name) == nullptr && is_none(value)) continue;
    words += fmt::format("{}{}={}", words.empty() ? "" : ",", name, space::to_text(value));
  }
  return words;
}

}  // namespace nocturne::report
