#pragma once

/// What the paper says beside what this machine says: as a table, as Markdown for a README, for machines.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/report/evidence.hpp"
#include "tuner/report/published_results.hpp"

namespace nocturne::cli {

struct PublishedResultRow {
  report::PublishedResult published;
  std::optional<report::Evidence> evidence;
  report::Judgement judgement;
  std::string reason;      ///< why there is nothing, or nothing better; may be empty
  std::string command{};   ///< that would measure it; empty: none would, or none is needed
  bool elsewhere = false;  ///< not on this machine: the command is for another
};

void print_published_results(const Context& context, const std::vector<PublishedResultRow>& rows);
[[nodiscard]] std::string published_results_markdown(const std::vector<PublishedResultRow>& rows);
/// README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json published_results_json(const std::vector<PublishedResultRow>& rows);

}  // namespace nocturne::cli
