#pragma once

/// `nocturne list [WHAT]`: what exists.

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ListOptions {
  std::string what = "campaigns";
  CampaignChoice campaign;  ///< whose trials and parameters
  std::string outcome;      ///< trials: ok, failed (whatever is not ok), or an outcome by name
  std::string sort = "number";
  std::optional<std::int64_t> limit;
};

/// One of the things that are listed (list_comparisons.cpp).
[[nodiscard]] ExitCode list_comparisons(const ListOptions& options, const Context& context);

void setup(CLI::App& subcommand, ListOptions& options);
[[nodiscard]] ExitCode run(const ListOptions& options, Context& context);

}  // namespace nocturne::cli
