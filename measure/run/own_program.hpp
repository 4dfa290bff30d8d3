#pragma once

/// Where this program is, and those that come with it.

#include <filesystem>
#include <string_view>

namespace nocturne::measure {

/// The file of this program, absolute. Empty: the system does not tell.
[[nodiscard]] std::filesystem::path own_program_path();

/// The file of that name beside it, whether or not it is there. Empty: likewise.
[[nodiscard]] std::filesystem::path beside_own_program(std::string_view name);

/// The value of `variable` where it is set; else the program `name` beside this one, else in ../libexec/nocturne seen
/// from there. Empty: none of these exists.
[[nodiscard]] std::filesystem::path find_own_program(const char* name, const char* variable);

}  // namespace nocturne::measure
