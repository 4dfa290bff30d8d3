#pragma once

/// Checks a document against a JSON Schema (draft-07) and says in our words what is wrong.
///
/// The library (valijson) judges; it knows where, and which kind of rule was broken. What stands there and what may
/// stand there is read from the document and the schema. `x-form`, a keyword of ours, describes a `pattern` in words.
/// Our own words cover these rules of the schema: type, enum, minimum, exclusiveMinimum, maximum, minItems, maxItems,
/// minLength, pattern, required, additionalProperties: false, items, and $ref inside the document; any other rule that
/// is broken is reported in the library's words.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {

struct SchemaFinding {
  std::string pointer;  ///< into the document
  At at = At::Value;
  std::string found;
  std::string allowed;
  std::string nearest;
  friend bool operator==(const SchemaFinding&, const SchemaFinding&) = default;
};

/// All findings; empty: the document is valid. Throws std::runtime_error where `schema` is not a schema.
[[nodiscard]] std::vector<SchemaFinding> check_against_schema(const nlohmann::json& schema,
                                                              const nlohmann::json& document);
/// Adds them all.
void check_against_schema(const nlohmann::json& schema, Checks& checks);

}  // namespace nocturne::tuner
