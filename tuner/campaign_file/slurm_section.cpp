#include "tuner/campaign_file/slurm_section.hpp"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>

#include "space/parse_number.hpp"
#include "tuner/campaign_file/document_positions.hpp"
#include "tuner/campaign_file/quantity.hpp"

namespace nocturne::tuner {
namespace {

constexpr bool kPassedOn = true;

constexpr std::array kSlurmKeys = {
    SlurmKey{"nodes", nullptr, "N", "On so many nodes of a cluster, by Slurm: submits a job"},
    SlurmKey{"partition", &SlurmRequest::partition, "P", "Slurm's partition", kPassedOn},
    SlurmKey{"account", &SlurmRequest::account, "A", "Slurm's account", kPassedOn},
    SlurmKey{"qos", &SlurmRequest::qos, "Q", "Slurm's quality of service", kPassedOn},
    SlurmKey{"constraint", &SlurmRequest::constraint, "C", "Features that the nodes must have", kPassedOn},
    SlurmKey{"exclude", &SlurmRequest::exclude, "NODES", "Nodes that the job must not have: n3,n[7-9]", kPassedOn},
    SlurmKey{"gres", &SlurmRequest::gres, "G", "What each node must have: gpu:1", kPassedOn},
    SlurmKey{"time", &SlurmRequest::time, "HH:MM:SS", "Wall limit of the job, or 8h"},
    SlurmKey{"cluster", &SlurmRequest::cluster, "NAME", "A registered infrastructure: nocturne list infrastructures"},
    SlurmKey{"slots", &SlurmRequest::slots, "node|gpu|numa", "One trial at a time on each node, GPU or memory node"},
};

/// Empty: it is no "HH:MM:SS".
std::optional<std::chrono::seconds> parse_clock(std::string_view text) {
  std::array<std::int64_t, 3> parts{};
  std::size_t index = 0;
  for (const auto part : text | std::views::split(':')) {
    const std::string_view digits(part.begin(), part.end());
    if (index == parts.size() || digits.empty() || digits.size() > (index == 0 ? 5U : 2U)) return std::nullopt;
    const auto number = space::parse_number<std::int64_t>(digits).value_or(-1);
    if (number < 0 || (index > 0 && number > 59)) return std::nullopt;
    parts.at(index++) = number;
  }
  if (index != parts.size()) return std::nullopt;
  return std::chrono::seconds(parts[0] * 3600 + parts[1] * 60 + parts[2]);
}

}  // namespace

std::span<const SlurmKey> slurm_keys() {
  return kSlurmKeys;
}

std::optional<SlurmRequest> slurm_request(const nlohmann::json& document) {
  const nlohmann::json::json_pointer place{std::string(kSlurmPointer)};
  if (!document.contains(place)) return std::nullopt;
  const nlohmann::json& section = document.at(place);
  SlurmRequest request;
  for (const SlurmKey& key : kSlurmKeys) {
    const auto found = section.find(std::string(key.name));
    if (found == section.end()) continue;
    if (key.text == nullptr)
      request.nodes = found->get<std::int64_t>();
    else
      request.*key.text = found->get<std::string>();
  }
  return request;
}

void check_slurm(Checks& checks) {
  const nlohmann::json* time = checks.get(kSlurmPointer, "time");
  if (time == nullptr) return;
  if (const auto parsed = parse_job_time(time->get<std::string>()); !parsed)
    checks.add(pointer_to(kSlurmPointer, "time"), "found " + shown(*time), parsed.error());
}

bool is_slurm_word(std::string_view text) {
  constexpr std::string_view kHarmless = "_-./:,+@%=*&|()[]!~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kHarmless.contains(c);
  });
}

std::expected<std::chrono::seconds, std::string> parse_job_time(const std::string& text) {
  if (const auto clock = parse_clock(text); clock && clock->count() > 0) return *clock;
  if (const auto duration = parse_duration(text)) return std::chrono::ceil<std::chrono::seconds>(*duration);
  return std::unexpected("a time above zero, such as \"08:00:00\" or \"8h\" (units d, h, min, s, ms)");
}

}  // namespace nocturne::tuner
