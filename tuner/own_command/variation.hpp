#pragma once

/// What `--vary` asks for: an option of the user's command, or an environment variable, and its values.
///
///   --batch-size=32,64,128     the option with '='          "--batch-size 32,64,128"   as two words
///   --amp                      with and without it          OMP_SCHEDULE=static,dynamic  a variable

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "space/value.hpp"

namespace nocturne::tuner {

struct Variation {
  std::string name;                  ///< "--batch-size", "-b", "OMP_SCHEDULE"
  bool variable = false;             ///< whether it is an environment variable
  bool joined = true;                ///< NAME=VALUE in one word
  std::vector<space::Value> values;  ///< as given; empty: a flag, which is there or not
  friend bool operator==(const Variation&, const Variation&) = default;

  /// As expressions and results may use it: "batch_size"; of a variable "env.OMP_SCHEDULE".
  [[nodiscard]] std::string parameter() const;
};

/// The error is a sentence. A comma inside a value is written as "\,".
[[nodiscard]] std::expected<Variation, std::string> read_variation(std::string_view text);

/// A value as the user wrote it: a number only where the number prints as that text again.
[[nodiscard]] space::Value written_value(const std::string& text);

}  // namespace nocturne::tuner
