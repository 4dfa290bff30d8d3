#pragma once

/// Which program this is: a result without its circumstances is not a result.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nocturne::tuner {

[[nodiscard]] std::string_view version();  ///< the project's version, "0.1.0"
/// The commit it was built from, as git names it ("2ca97f1…", with "-dirty" where the tree had changes), or "unknown"
/// outside a git checkout.
[[nodiscard]] std::string_view commit();

/// {"nocturne": its version, "commit", "compiler", "build_type", "libraries": {name: version}}
[[nodiscard]] nlohmann::json version_json();
/// The same for the user.
[[nodiscard]] std::string version_text();

}  // namespace nocturne::tuner
