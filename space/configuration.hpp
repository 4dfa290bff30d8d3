#pragma once

/// One value for each active parameter of a space.

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "space/value.hpp"

namespace nocturne::space {

/// A value type: comparable, hashable by identity(). Inactive parameters are absent.
class Configuration {
 public:
  using Values = std::map<std::string, Value, std::less<>>;

  Configuration() = default;
  explicit Configuration(Values values) : values_(std::move(values)) {}

  [[nodiscard]] const Value* find(std::string_view name) const;
  /// The value in readable form, `otherwise` where the parameter is absent.
  [[nodiscard]] std::string text_of(std::string_view name, std::string_view otherwise = {}) const;
  /// Empty where it is absent, or no integer.
  [[nodiscard]] std::optional<std::int64_t> integer_of(std::string_view name) const;
  void set(std::string_view name, Value value);
  void erase(std::string_view name);
  [[nodiscard]] const Values& values() const { return values_; }
  [[nodiscard]] bool empty() const { return values_.empty(); }

  /// JSON object with sorted keys, no white space: equal configurations give equal text.
  [[nodiscard]] std::string canonical() const;
  /// First 128 bits of SHA-256 of canonical(), 32 hexadecimal digits. Independent of the order in which values were
  /// set.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] nlohmann::json to_json() const;
  /// The error names the key that is not a boolean, number or string.
  [[nodiscard]] static std::expected<Configuration, std::string> from_json(const nlohmann::json& document);

  friend bool operator==(const Configuration&, const Configuration&) = default;

 private:
  Values values_;
};

}  // namespace nocturne::space
