#pragma once

/// What the paper says beside what this machine says: as a table, as Markdown for a README, for machines.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/report/claims.hpp"
#include "tuner/report/evidence.hpp"
#include "tuner/report/judgement.hpp"

namespace nocturne::cli {

struct ClaimRow {
  report::Claim claim;
  std::optional<report::Evidence> evidence;
  report::Judgement judgement;
  std::string reason;   ///< why there is nothing, or nothing better; may be empty
  std::string command;  ///< that would measure it; empty: none would, or none is needed
};

void print_claims_report(const Context& context, const std::vector<ClaimRow>& rows);
[[nodiscard]] std::string claims_markdown(const std::vector<ClaimRow>& rows);
/// README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json claims_report_json(const std::vector<ClaimRow>& rows);

}  // namespace nocturne::cli
