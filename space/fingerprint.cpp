#include "space/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "space/digest.hpp"
#include "space/names.hpp"

namespace nocturne::space {
namespace {

constexpr std::array<std::string_view, 3> kMatches = {"must", "verify", "ignore"};

std::string digest_of(const nlohmann::json& document) {
  return short_digest(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::expected<FingerprintField, std::string> field_from_json(const nlohmann::json& entry) {
  const auto has = [&](const char* key, nlohmann::json::value_t type) {
    return entry.is_object() && entry.contains(key) && entry[key].type() == type;
  };
  using enum nlohmann::json::value_t;
  if (!has("name", string) || !has("value", string) || !has("match", string) || !has("cheap", boolean))
    return std::unexpected("a field of a fingerprint is {name, value, match, cheap}, not " + entry.dump());
  const auto match = match_from_text(entry["match"].get<std::string>());
  if (!match) return std::unexpected("match is must, verify or ignore, not " + entry["match"].dump());
  return FingerprintField{.name = entry["name"], .value = entry["value"], .match = *match, .cheap = entry["cheap"]};
}

}  // namespace

std::string_view to_text(Match match) {
  return name_of(match, kMatches);
}
std::optional<Match> match_from_text(std::string_view text) {
  return named<Match>(text, kMatches);
}

void Fingerprint::set(FingerprintField field) {
  const auto same = std::ranges::find(fields_, field.name, &FingerprintField::name);
  if (same == fields_.end())
    fields_.push_back(std::move(field));
  else
    *same = std::move(field);
}

const FingerprintField* Fingerprint::find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &FingerprintField::name);
  return found == fields_.end() ? nullptr : &*found;
}

std::string Fingerprint::key() const {
  auto relevant = nlohmann::json::object();
  for (const auto& field : fields_)
    if (field.match == Match::Must) relevant[field.name] = field.value;
  return digest_of(relevant);
}

std::string Fingerprint::identity() const {
  return digest_of(to_json());
}

std::vector<FingerprintDifference> Fingerprint::differences(const Fingerprint& now) const {
  std::set<std::string> names;
  for (const auto& field : fields_) names.insert(field.name);
  for (const auto& field : now.fields_) names.insert(field.name);
  std::vector<FingerprintDifference> result;
  for (const auto& name : names) {
    const auto* a = find(name);
    const auto* b = now.find(name);
    const Match match = std::min(a ? a->match : Match::Ignore, b ? b->match : Match::Ignore);  // stricter is smaller
    FingerprintDifference difference{name, a ? a->value : "", b ? b->value : "", match};
    if (difference.before != difference.now && match != Match::Ignore) result.push_back(std::move(difference));
  }
  return result;
}

nlohmann::json Fingerprint::to_json() const {
  std::map<std::string, nlohmann::json> sorted;
  for (const auto& field : fields_) {
    sorted[field.name] = {
        {"name", field.name}, {"value", field.value}, {"match", to_text(field.match)}, {"cheap", field.cheap}};
  }
  auto document = nlohmann::json::array();
  for (auto& [name, entry] : sorted) document.push_back(std::move(entry));
  return document;
}

std::expected<Fingerprint, std::string> Fingerprint::from_json(const nlohmann::json& document) {
  if (!document.is_array()) return std::unexpected("a fingerprint is an array of fields");
  Fingerprint result;
  for (const auto& entry : document) {
    auto field = field_from_json(entry);
    if (!field) return std::unexpected(field.error());
    if (result.find(field->name) != nullptr) return std::unexpected("field '" + field->name + "' appears twice");
    result.set(std::move(*field));
  }
  return result;
}

}  // namespace nocturne::space
