#pragma once

/// The section `space` of a campaign file.

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "space/facts.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// /space/constraints, as far as they are sound. `indices`: their places in the list; may be null.
[[nodiscard]] std::vector<space::ConstraintSpec> read_constraints(Checks& checks,
                                                                  std::vector<std::size_t>* indices = nullptr);

/// What a campaign may try.
struct SpaceSection {
  space::Space space;
  std::string shipped_build{};  ///< CampaignSpec::shipped_build
};

/// Empty where anything of the section has a problem; then `checks` has them all. A parameter that the schema refused
/// is left out, and so is every expression that mentions it, so that one mistake is not reported twice. What is
/// unavailable or cannot be built is left out of the space, by constraints behind those of the file.
[[nodiscard]] std::optional<SpaceSection> read_space(Checks& checks, space::Facts facts, const WorkerChoice& worker,
                                                     std::span<const UnavailableFramework> unavailable);

/// The names that stand in the text of an expression, without parsing it: it may be one that cannot be parsed.
/// Words of letters, digits, '_' and '.' outside quotes that begin with a letter or '_': "a.b > 1 and c" gives a.b,
/// and, c.
[[nodiscard]] std::set<std::string> expression_words(std::string_view expression);

/// {"space", "facts"}: what makes two spaces the same. Sentences for people and facts that no expression names are left
/// out.
[[nodiscard]] nlohmann::json identity_of(const space::Space& space, const space::Facts& facts);

}  // namespace nocturne::tuner
