#pragma once

/// Which configurations a strategy need not propose again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "search/strategy.hpp"
#include "space/configuration.hpp"
#include "space/random.hpp"
#include "space/space.hpp"

namespace nocturne::search {

/// Of its values, without the text and the digest of an identity.
struct ConfigurationHash {
  [[nodiscard]] std::size_t operator()(const space::Configuration& configuration) const noexcept;
};

/// Configurations that were asked or told. Not thread-safe.
class AskedConfigurations {
 public:
  /// Whether it was new.
  bool insert(const space::Configuration& configuration) { return seen_.insert(configuration).second; }
  [[nodiscard]] bool contains(const space::Configuration& configuration) const { return seen_.contains(configuration); }

  /// Up to `count` proposals made by `propose`, each inserted before the next is made; ends where it makes none.
  [[nodiscard]] std::vector<Proposal> collect(std::size_t count,
                                              const std::function<std::optional<space::Configuration>()>& propose);

  /// Uniform over the valid configurations that are not among these; does not insert it. Empty: there are none (in a
  /// space with real ranges: none of many that were tried; where Space::sample() gives up, in more than ten million
  /// combinations: none was found). `wanted`: of those it is true of; in a space of more than a million it may miss
  /// the last of them.
  using Filter = std::function<bool(const space::Configuration&)>;
  [[nodiscard]] std::optional<space::Configuration> sample_other(const space::Space& space, space::Random& random,
                                                                 const Filter& wanted = {}) const;

 private:
  std::unordered_set<space::Configuration, ConfigurationHash> seen_;
};

}  // namespace nocturne::search
