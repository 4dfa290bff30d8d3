#pragma once

/// The JSON Schema of the registry's files (schema/registry.schema.json), which is part of the program.

#include <string_view>

namespace nocturne::tuner {

/// Its text (draft-07); ends with a newline. `definitions` has one for each kind of file: infrastructure, fragment,
/// image.
[[nodiscard]] std::string_view registry_schema();

}  // namespace nocturne::tuner
