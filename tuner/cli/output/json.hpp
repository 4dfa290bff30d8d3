#pragma once

/// Results for machines: one document on standard output.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// `document` with the keys `schema` and `version`, two spaces of indentation and a newline. Bytes that are not UTF-8
/// (a worker's output can hold any) become U+FFFD. `schema` is the document's name: a file of tuner/cli/schemas.
void print_json(const Context& context, std::string_view schema, nlohmann::json document);

/// null where there is no value.
template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

/// null where there is no text.
inline nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

/// A list with `form` of each item.
template <typename Items, typename Form>
nlohmann::json json_list(const Items& items, Form form) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& item : items) list.push_back(nlohmann::json(form(item)));
  return list;
}

// The documents of `--json` as JSON Schema (draft-07): what `nocturne schema NAME` prints and what tests check.
//
// Sources are tuner/cli/schemas/NAME.json, built into the program. They are strict without saying so: each object has
// all keys of its `properties`, but those in `optional`, and no others. `extends` lays a source over another one
// (RFC 7396), `version` says when a document changes, and `#/definitions/…` are those of definitions.json.

struct SchemaSource {
  std::string_view name;  ///< the document's name: "best", "list-trials", …
  std::string_view text;
};

/// Generated. With definitions.json, which is no document.
[[nodiscard]] std::span<const SchemaSource> schema_sources();

/// A document that can be printed, and by which command; in alphabetical order.
struct DocumentName {
  std::string name, printed_by;
};
[[nodiscard]] std::vector<DocumentName> document_names();

/// The schema in full; empty: there is no such document.
[[nodiscard]] std::optional<nlohmann::json> document_schema(std::string_view name);

/// `document` with the keys `schema`, its name, and `version`. Throws std::logic_error where that name has no schema.
[[nodiscard]] nlohmann::json named_document(std::string_view name, nlohmann::json document);

/// Where `document` deviates from the schema it names: "/best/trial: …". Empty: nowhere.
[[nodiscard]] std::vector<std::string> deviations(const nlohmann::json& document);

}  // namespace nocturne::cli
