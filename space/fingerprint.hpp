#pragma once

/// What a result depends on besides its configuration: the machine, its system, its libraries. Filled by measure.

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::space {

/// What a difference in a field means for results measured elsewhere or earlier.
enum class Match {
  Must,    ///< another machine: results are not comparable
  Verify,  ///< probably the same: comparable, measured again before it is relied upon
  Ignore,  ///< recorded to explain, never compared
};

[[nodiscard]] std::string_view to_text(Match match);  ///< must, verify, ignore
[[nodiscard]] std::optional<Match> match_from_text(std::string_view text);

struct FingerprintField {
  std::string name;  ///< "cpu.model", "gpu.0.driver"; unique
  std::string value;
  Match match = Match::Must;
  bool cheap = false;  ///< read again before every run; a driver can be upgraded at three in the morning
  friend bool operator==(const FingerprintField&, const FingerprintField&) = default;
};

/// A difference between two fingerprints; an absent field has an empty value.
struct FingerprintDifference {
  std::string name;
  std::string before;
  std::string now;
  Match match = Match::Must;  ///< the stricter of the two
  friend bool operator==(const FingerprintDifference&, const FingerprintDifference&) = default;
};

/// A value. Fields keep the order in which they were set; comparison and key do not depend on it.
class Fingerprint {
 public:
  /// Replaces the field of that name.
  void set(FingerprintField field);
  [[nodiscard]] const FingerprintField* find(std::string_view name) const;
  [[nodiscard]] const std::vector<FingerprintField>& fields() const { return fields_; }

  /// Digest of names and values that must match (32 hexadecimal digits): part of every trial's key.
  [[nodiscard]] std::string key() const;
  /// Digest of all fields: which stored fingerprint this is.
  [[nodiscard]] std::string identity() const;
  /// Fields that differ and are not Match::Ignore, by name.
  [[nodiscard]] std::vector<FingerprintDifference> differences(const Fingerprint& now) const;

  /// Array of {name, value, match, cheap}, by name.
  [[nodiscard]] nlohmann::json to_json() const;
  [[nodiscard]] static std::expected<Fingerprint, std::string> from_json(const nlohmann::json& document);

  friend bool operator==(const Fingerprint& a, const Fingerprint& b) { return a.identity() == b.identity(); }

 private:
  std::vector<FingerprintField> fields_;
};

}  // namespace nocturne::space
