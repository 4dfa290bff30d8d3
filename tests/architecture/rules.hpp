#pragma once
/// The rules of the source tree that a compiler does not know, as functions over text.
///
/// Includes are written from the root, so each line of a source names the component it reaches into; `may_include` is
/// the table of arrows between components. Files are read, nothing is written. Safe to call from several threads.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::architecture {

/// A place that breaks a rule. `file` is relative to the root, `line` counts from 1 (0: the file as a whole).
struct Violation {
  std::string file;
  std::size_t line = 0;
  std::string what;
  friend bool operator==(const Violation&, const Violation&) = default;
};

/// The component a file belongs to: its first folder; in measure, tuner and kernels its second, "tuner/campaign". Empty
/// for a file of none.
[[nodiscard]] std::string component_of(std::string_view path);

/// Whether a source of component `from` may include a header of component `to`:
///
///     space ← search, db, measure ← tuner        measure/protocol ← measure, tuner, kernels/*
///
/// Inside measure and tuner components have levels, and include lower ones. A worker of kernels/ knows itself, what
/// native workers share (kernels/data, kernels/networks, kernels/worker) and measure/protocol, so that it builds where
/// nothing else of ours is.
[[nodiscard]] bool may_include(std::string_view from, std::string_view to);

/// Breaches in one source, header or script. `path` is relative to the root and decides which rules hold.
[[nodiscard]] std::vector<Violation> check_text(std::string_view path, std::string_view text);

/// The files the rules hold for: sources and scripts of the components, of the tests and at the root.
[[nodiscard]] std::vector<std::filesystem::path> files_of(const std::filesystem::path& root);

/// Breaches in all `files_of(root)`, sorted by file and line. Throws std::runtime_error where a file cannot be read.
[[nodiscard]] std::vector<Violation> check_tree(const std::filesystem::path& root);

}  // namespace nocturne::architecture
