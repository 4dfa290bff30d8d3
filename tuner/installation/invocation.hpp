#pragma once

/// How this program was called, for the commands that pages and messages propose: what is pasted into the same shell
/// finds the same program and the same data.

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace nocturne::tuner {

/// The words before the subcommand: the program, and the options that say where the data lie. Before it is called:
/// "nocturne". Set before any other thread starts.
void set_invocation(std::span<const std::string> words);

/// A command of this program, quoted for a shell: `./build/nocturne --data d show 17 --log`.
[[nodiscard]] std::string command_text(std::initializer_list<std::string_view> words);
/// The same, with words behind the subcommand that are quoted already.
[[nodiscard]] std::string command_text(std::string_view subcommand, std::string_view quoted_words);

/// A file as a word of a command, quoted: relative to the current directory where it lies below, else absolute.
[[nodiscard]] std::string file_word(const std::filesystem::path& file);

}  // namespace nocturne::tuner
