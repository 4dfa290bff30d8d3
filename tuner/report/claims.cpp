#include "tuner/report/claims.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/changes.hpp"

namespace nocturne::report {
namespace {

using nlohmann::json;

std::expected<Claim, std::string> read_claim(const json& document) {
  Claim claim;
  try {
    claim.id = document.at("id").get<std::string>();
    claim.title = document.at("title").get<std::string>();
    claim.sentence = document.at("sentence").get<std::string>();
    claim.network = document.at("network").get<std::string>();
    claim.device = document.at("device").get<std::string>();
    const auto kind = document.value("kind", "faster");
    if (kind != "faster" && kind != "first_epoch") return std::unexpected(fmt::format("there is no kind '{}'", kind));
    claim.kind = kind == "faster" ? ClaimKind::Faster : ClaimKind::FirstEpoch;
    if (claim.kind == ClaimKind::FirstEpoch) return claim;
    claim.needs = document.value("needs", "");
    claim.claimed_percent = document.at("claimed_percent").get<double>();
    for (const auto& [key, side] : {std::pair{"reference", &claim.reference}, {"candidate", &claim.candidate}}) {
      auto read = space::Configuration::from_json(document.at(key));
      if (!read) return std::unexpected(fmt::format("{}: {}", key, read.error()));
      *side = std::move(*read);
    }
  } catch (const json::exception& error) {
    return std::unexpected(std::string(error.what()));
  }
  if (claim.claimed_percent == 0 || claim.reference == claim.candidate) {
    return std::unexpected("a claim says which of two different sides is faster");
  }
  return claim;
}

bool is_none(const space::Value& value) {
  return value == space::Value(std::string("none"));
}

}  // namespace

std::expected<std::vector<Claim>, std::string> read_claims(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("claims") || !document["claims"].is_array()) {
    return std::unexpected("an object with an array 'claims' was expected");
  }
  std::vector<Claim> claims;
  for (const json& each : document["claims"]) {
    auto claim = read_claim(each);
    if (!claim) return std::unexpected(fmt::format("claim {}: {}", claims.size(), claim.error()));
    claims.push_back(std::move(*claim));
  }
  return claims;
}

bool is_side(const Claim& claim, const space::Configuration& side, const space::Configuration& configuration) {
  for (const auto& [name, value] : side.values()) {
    const space::Value* found = configuration.find(name);
    if (found == nullptr ? !is_none(value) : *found != value) return false;
  }
  const space::Value* device = configuration.find("device");
  const std::string on = device == nullptr ? "cpu" : space::to_text(*device);
  return (on == "cuda" ? "gpu" : on) == claim.device;  // the paper has one kind of GPU
}

bool differ_as_claimed(const Claim& claim, const space::Configuration& reference,
                       const space::Configuration& candidate) {
  for (const tuner::Change& change : tuner::changes_between(reference, candidate)) {
    const bool claimed =
        claim.reference.find(change.parameter) != nullptr || claim.candidate.find(change.parameter) != nullptr;
    if (!claimed && change.from && change.to) return false;
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
