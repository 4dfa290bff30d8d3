#pragma once

/// `nocturne list` of what is registered (tuner/registry).

#include <string>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {

/// The document of --json, with the things under the key `what`, or the table for people.
ExitCode print_list(const Context& context, const std::string& what, nlohmann::json things, const Table& table);

[[nodiscard]] ExitCode list_infrastructures(const Context& context);
[[nodiscard]] ExitCode list_fragments(const Context& context);
/// Images of the registry, and recipes of images that have labels.
[[nodiscard]] ExitCode list_images(const Context& context);

}  // namespace nocturne::cli
