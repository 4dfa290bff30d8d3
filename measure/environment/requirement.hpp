#pragma once

/// Plain requirement specifiers: what may be handed to an installer as one argument, and nothing more.

#include <string>
#include <string_view>

namespace nocturne::measure {

/// True for NAME, NAME[EXTRA,…] and either with comparisons: "torch==1.4.0", "numpy>=1.16,<1.20", "jax[cpu]". False for
/// whatever an installer could take for something else: options, paths, addresses, markers, white space.
[[nodiscard]] bool is_plain_requirement(std::string_view text);

/// The package alone, as PEP 503 spells it: lower case, runs of ".-_" as one "-".
/// REQUIRES: is_plain_requirement(text).
[[nodiscard]] std::string package_of(std::string_view text);

}  // namespace nocturne::measure
