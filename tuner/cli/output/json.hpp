#pragma once

/// Results for machines: one document on standard output.

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// Two spaces of indentation and a newline. Bytes that are not UTF-8 (a worker's output can hold any) become U+FFFD.
void print_json(const Context& context, const nlohmann::json& document);

}  // namespace nocturne::cli
