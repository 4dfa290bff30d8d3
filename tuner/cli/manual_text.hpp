#pragma once

/// The command reference, made from the command line itself: a new subcommand or option needs nothing here.
///
/// Each function takes the root of the command line after every subcommand was added to it. Subcommands without a group
/// are left out. Nothing depends on the machine or on the terminal, so the committed files can be compared with what
/// the program says now.

#include <map>
#include <string>
#include <string_view>

#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// Group of the options that every subcommand accepts; described once, before the subcommands.
inline constexpr std::string_view kCommonOptions = "Common options";

/// docs/reference.md: a section for each subcommand with its usage, options, explanation and examples.
[[nodiscard]] std::string reference_markdown(const CLI::App& root);

/// README.md's table: a row for each group, each subcommand a link into docs/reference.md.
[[nodiscard]] std::string subcommand_table(const CLI::App& root);

/// Man pages of section 1 (man-pages(7)): file name → troff source; "nocturne.1", and "nocturne-NAME.1" for each
/// subcommand.
[[nodiscard]] std::map<std::string, std::string> man_pages(const CLI::App& root);

}  // namespace nocturne::cli
