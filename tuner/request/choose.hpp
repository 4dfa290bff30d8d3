#pragma once

/// What answers a request: a hard filter by what it demands, then an order by how well a thing is known. Whatever was
/// not chosen has its reason. Measured configurations come from the database, all else from the registry and recipes.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "space/configuration.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/request/job_request.hpp"
#include "tuner/request/offer.hpp"

namespace nocturne::tuner {

/// What a configuration was trained with. `start`: the labels of what its `framework` names.
[[nodiscard]] Labels labels_of(Labels start, const space::Configuration& configuration);

/// The best known first.
enum class Evidence { PairsHere, TrialsHere, TrialsOnClass, TrialsElsewhere, None };
[[nodiscard]] std::string_view to_text(Evidence evidence);

/// The best of one campaign that satisfies a request.
struct Fitting {
  Answer answer;          ///< its `best` is the configuration, with its own verdict
  std::string framework;  ///< that trains it: a recipe, or a worker of ours
  Labels labels;
  Evidence evidence = Evidence::TrialsElsewhere;
  double seconds = 0;    ///< estimate for the campaign's primary horizon
  std::string price;     ///< what it costs that this, and not the campaign's best, was demanded; empty: nothing
  std::string unproven;  ///< why the campaign's default is taken, or that nothing proves this; empty: proven
};

/// What is not the answer.
struct NotChosen {
  std::string kind;  ///< campaign, environment, image
  std::string name;
  std::string reason;
  bool fits = false;  ///< it has what is demanded
  bool near = false;  ///< it is at least of what is asked for
};

/// Where both are empty, nothing has what is demanded.
struct Choice {
  std::optional<Fitting> chosen;
  std::optional<Offer> offer;  ///< where nothing that was measured fits
  std::vector<NotChosen> others;
};

/// What is chosen from.
struct Candidates {
  const db::Store* store = nullptr;  ///< null: nothing was measured yet
  std::vector<Offer> offers;
  space::Fingerprint here;  ///< of this machine
  /// Why this machine cannot have an environment; asked only of what fits. May be empty.
  std::function<std::string(const std::string&)> obstacle;
};

/// Whether the campaign trains what the request names, or runs its command.
[[nodiscard]] bool trains_what_is_named(const db::CampaignSummary& campaign, const Demands& demands);

/// Of campaigns of one name the latest generation counts.
[[nodiscard]] Choice choose(const Candidates& candidates, const Demands& demands);

}  // namespace nocturne::tuner
