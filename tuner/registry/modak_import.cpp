#include "tuner/registry/modak_import.hpp"

#include <array>
#include <utility>

#include "tuner/campaign_file/document_positions.hpp"
#include "tuner/registry/infrastructure.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

constexpr std::array kRenamed = {std::pair{"name", "infrastructure"}, std::pair{"job_scheduler", "scheduler"},
                                 std::pair{"job_scheduler_type", "scheduler"}, std::pair{"queue_type", "scheduler"}};

/// "" and null say nothing in that language.
bool says_nothing(const Json& value) {
  return value.is_null() || value == "";
}

void take(const Json& from, Json& to) {
  for (const auto& [key, value] : from.items()) {
    if (says_nothing(value) || key == "configuration" || key == "id") continue;
    std::string name = key;
    for (const auto& [theirs, ours] : kRenamed)
      if (key == theirs) name = ours;
    to[name] = value;
  }
}

/// {"file:///x": {"storage_class": "default-high"}} → {"file:///x": "default-high"}.
void flatten_storage(Json& document) {
  if (!document.is_object() || !document.contains("storage") || !document["storage"].is_object()) return;
  for (auto& [url, location] : document["storage"].items())
    for (const char* key : {"storage_class", "class"})
      if (location.is_object() && location.contains(key)) location = Json(location[key]);
}

/// What it says with null is left out; its memory may be a number of bytes.
void tidy(Json& value) {
  if (!value.is_object()) return;
  std::vector<std::string> nothing;
  for (auto& [key, member] : value.items()) {
    tidy(member);
    if (member.is_null()) nothing.push_back(key);
  }
  for (const std::string& key : nothing) value.erase(key);
  if (value.contains("memory") && value["memory"].is_number_integer()) value["memory"] = value["memory"].dump();
}

}  // namespace

std::expected<Json, std::vector<Problem>> import_infrastructure(std::string_view text, const std::string& file) {
  auto read = read_document(text, file);
  if (!read) return std::unexpected(std::move(read.error()));
  if (!read->value.is_object())
    return std::unexpected(
        std::vector{problem_at(*read, "", At::Value, "found " + shown(read->value), "an object {...}")});
  Json document = Json::object();
  take(read->value, document);
  if (read->value.contains("configuration") && read->value["configuration"].is_object())
    take(read->value["configuration"], document);
  if (!document.contains("scheduler")) document["scheduler"] = "none";
  flatten_storage(document);
  if (document.contains("partitions") && document["partitions"].is_object())
    for (auto& [name, partition] : document["partitions"].items()) flatten_storage(partition);
  tidy(document);
  const auto sound = read_infrastructure(document.dump(2), file + " as a file of ours", "");
  if (!sound) return std::unexpected(sound.error());
  return document;
}

}  // namespace nocturne::tuner
