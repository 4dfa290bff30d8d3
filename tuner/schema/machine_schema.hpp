#pragma once

/// The JSON Schema of machines that are described (schema/machine.schema.json), which is part of the program.

#include <string_view>

namespace nocturne::tuner {

/// Its text (draft-07); ends with a newline.
[[nodiscard]] std::string_view machine_schema();

}  // namespace nocturne::tuner
