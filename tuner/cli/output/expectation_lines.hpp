#pragma once

/// What the model expects, behind what was measured: what matters, what was not worth trying, the expected gain of
/// continuing.

#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// On context.out; nothing where nothing can be said.
void print_expectations(const Context& context, const tuner::Expectations& expectations);

/// "16 % slower than O3 (2.0 to 27 %); one trial; measured once: 18 % slower".
[[nodiscard]] std::string change_text(const tuner::OtherValue& other, const std::string& reference);

/// README.md of tuner/cli describes their keys. null: nothing can be said.
[[nodiscard]] nlohmann::json values_json(std::span<const tuner::OtherValue> values);
[[nodiscard]] nlohmann::json continuing_json(const std::optional<tuner::ValueOfContinuing>& continuing);
/// Sets `matters`, `continuing` and `without` of a document.
void add_expectations(nlohmann::json& document, const tuner::Expectations& expectations);

}  // namespace nocturne::cli
