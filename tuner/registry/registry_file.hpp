#pragma once

/// A file of the registry, read and checked by the schema: everything that is wrong at once, with its place.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/document_positions.hpp"
#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

/// `kind`: a definition of the schema, "infrastructure", which is also the key that names the thing. `file` names the
/// text in problems; where `stem` is not empty, the thing is called like it.
[[nodiscard]] std::expected<Document, std::vector<Problem>> read_registry_file(std::string_view text,
                                                                               const std::string& file,
                                                                               const std::string& kind,
                                                                               const std::string& stem);

/// The problems of a document that was written by a program of ours, or by none.
[[nodiscard]] std::vector<Problem> problems_by_schema(const Document& document, const std::string& kind);

}  // namespace nocturne::tuner
