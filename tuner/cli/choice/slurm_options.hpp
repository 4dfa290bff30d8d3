#pragma once

/// Options that say what Slurm is asked for, by the names of /executor/slurm (campaign_file/slurm_section.hpp).

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/campaign_file/setting.hpp"
#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/registry/registry.hpp"

namespace CLI {
class Option;
}

namespace nocturne::cli {

/// By the names of tuner::slurm_keys(); empty: not given.
using SlurmWords = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] bool any_given(const SlurmWords& words);
/// Empty: not given.
[[nodiscard]] std::string slurm_word(const SlurmWords& words, std::string_view name);

/// The option of a key. Its value goes into `words`, which outlives the subcommand.
CLI::Option* add_slurm_option(CLI::App& subcommand, SlurmWords& words, const tuner::SlurmKey& key);

/// What the options replace in a campaign's document.
[[nodiscard]] std::vector<tuner::Setting> slurm_settings(const SlurmWords& words);

/// The infrastructure of that name, which has Slurm. `place`: who names it, for the error. Throws Refusal.
[[nodiscard]] const tuner::Infrastructure& slurm_site(const Context& context, const tuner::Registry& registry,
                                                      const std::string& name, std::string_view place);

/// Why the data folder is not below what all nodes of the infrastructure share, a sentence; empty: it is, or no shared
/// folder is registered.
[[nodiscard]] std::string outside_of_share(const Context& context, const tuner::Infrastructure& site);

}  // namespace nocturne::cli
