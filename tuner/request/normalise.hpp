#pragma once

/// Requests of all generations of the language become one: older names of sections, keys and values are replaced,
/// blanks at the ends of texts go, and what says "" or "none" is absent. Places stay those of the file, so that a
/// problem names what the user wrote.

#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {

/// Nothing is judged here: what cannot be understood stays for the schema.
void normalise_request(Document& document);

}  // namespace nocturne::tuner
