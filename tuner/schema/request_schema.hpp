#pragma once

/// The JSON Schema of optimisation requests (schema/request.schema.json), which is part of the program.

#include <string_view>

namespace nocturne::tuner {

/// Its text (draft-07); ends with a newline. It describes a request whose older spellings are replaced
/// (tuner/request/normalise.hpp).
[[nodiscard]] std::string_view request_schema();

}  // namespace nocturne::tuner
