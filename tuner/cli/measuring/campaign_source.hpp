#pragma once

/// The campaign of subcommands that compare: a file, or a name in the database; and its configurations as words.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/facts.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

/// Which campaign: `--campaign FILE|NAME [--generation N]`.
struct CampaignSourceOptions {
  std::string campaign;  ///< empty: the one opened last
  std::optional<std::int64_t> generation;
};

void add_campaign_source(CLI::App& subcommand, CampaignSourceOptions& options);

struct CampaignSource {
  std::optional<db::CampaignSummary> stored;  ///< empty: nothing of it is in the database
  std::optional<tuner::CampaignSpec> spec;    ///< a file's; a stored campaign's after read_spec()
  space::Space space;
};

/// A word that is a file, or looks like one (a '/' or ".json" in it), is read as one; its stored campaign is the newest
/// generation of the same identity. `store` may be null: there is no database yet. Throws Refusal.
[[nodiscard]] CampaignSource find_campaign_source(const Context& context, const db::Store* store,
                                                  const CampaignSourceOptions& options, const space::Facts& facts);

/// What is needed to measure: a stored campaign is read again as it was stored, no file is needed. Throws Refusal
/// where this machine, with its `facts`, would make another campaign of it.
void read_spec(const Context& context, CampaignSource& source, const space::Facts& facts);

/// The configuration that a word means: a trial's number, `best`, `default`, settings ("name=value,…" or with spaces;
/// the rest as in the default), or an exported profile. The error is a sentence; NotFound where nothing of that name
/// was measured.
struct WordError {
  ExitCode code = ExitCode::Usage;
  std::string sentence;
};
[[nodiscard]] std::expected<space::Configuration, WordError> configuration_of_word(const Context& context,
                                                                                   const db::Store* store,
                                                                                   const CampaignSource& source,
                                                                                   const std::string& word);

}  // namespace nocturne::cli
