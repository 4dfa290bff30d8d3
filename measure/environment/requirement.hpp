#pragma once

/// Plain requirement specifiers: what may be handed to an installer as one argument, and nothing more. Lines of a lock.

#include <string>
#include <string_view>
#include <vector>

namespace nocturne::measure {

/// True for NAME, NAME[EXTRA,…] and either with comparisons: "torch==1.4.0", "numpy>=1.16,<1.20", "jax[cpu]". False for
/// whatever an installer could take for something else: options, paths, addresses, markers, white space.
[[nodiscard]] bool is_plain_requirement(std::string_view text);

/// The package alone, as PEP 503 spells it: lower case, runs of ".-_" as one "-".
/// REQUIRES: is_plain_requirement(text).
[[nodiscard]] std::string package_of(std::string_view text);

/// All that a lock may hold, for it may come from anybody's file: NAME==VERSION, and behind it the SHA-256 of each file
/// that it may be installed from: "numpy==1.19.5 --hash=sha256:<64 hexadecimal digits>".
[[nodiscard]] bool is_locked_package(std::string_view line);
/// NAME==VERSION alone.
[[nodiscard]] std::string_view version_in_lock(std::string_view line);
[[nodiscard]] bool has_hash(std::string_view line);
[[nodiscard]] std::string with_hash(std::string_view line, std::string_view sha256);
/// pip, setuptools and wheel, which a Python brings along. Where a lock has no hash for one of these, it says what
/// there was, and each machine takes its own.
[[nodiscard]] bool is_own_tool(std::string_view line);
/// Whether both have the same packages in the same versions. Hashes and the Python's own tools do not count.
[[nodiscard]] bool same_versions(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace nocturne::measure
