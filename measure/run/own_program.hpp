#pragma once

/// Where the programs are that come with this one.

#include <filesystem>

namespace nocturne::measure {

/// The value of `variable` where it is set; else the program `name` beside this one, else in ../libexec/nocturne seen
/// from there. Empty: none of these exists.
[[nodiscard]] std::filesystem::path find_own_program(const char* name, const char* variable);

}  // namespace nocturne::measure
