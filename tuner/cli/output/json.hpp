#pragma once

/// Results for machines: one document on standard output.

#include <string_view>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// `document` with the keys `schema` and `version`, two spaces of indentation and a newline. Bytes that are not UTF-8
/// (a worker's output can hold any) become U+FFFD. `schema` is the document's name: a file of tuner/cli/schemas.
void print_json(const Context& context, std::string_view schema, nlohmann::json document);

}  // namespace nocturne::cli
