#pragma once

/// What `nocturne blame` prints.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/deploy/blame.hpp"

namespace nocturne::cli {

/// Where what was measured can be looked at.
struct KeptEvidence {
  std::filesystem::path database;
  std::string campaign;
  std::int64_t generation = 1;
  std::int64_t runs_before = 0;  ///< runs of the present program from a session that did not come to its end
};

/// `kept`: empty where nothing was measured.
void print_blame(const Context& context, const std::vector<deploy::CandidateCause>& causes,
                 const std::optional<deploy::WholeChange>& change, const deploy::Blame& blame,
                 const std::optional<KeptEvidence>& kept);

[[nodiscard]] nlohmann::json blame_json(const std::string& name, const std::vector<deploy::CandidateCause>& causes,
                                        const std::optional<deploy::WholeChange>& change, const deploy::Blame& blame,
                                        const std::optional<KeptEvidence>& kept);

}  // namespace nocturne::cli
