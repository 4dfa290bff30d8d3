#pragma once

/// A command's private view of the user's files: it finds them as they are, and what it writes into its folder goes
/// into the run's own folder, so that each run begins with the same files and the user's stay as they are.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace nocturne::command {

enum class ViewKind {
  None,     ///< the command writes for real
  Overlay,  ///< an overlay over its folder, in a mount namespace of its own
  Copy,     ///< it starts in a copy of its folder
  Auto,     ///< Overlay, else Copy
};

struct ViewPlan {
  ViewKind kind = ViewKind::None;
  std::filesystem::path folder;                          ///< the command's; once prepared absolute and without links
  std::filesystem::path run;                             ///< the run's own; likewise
  std::vector<std::filesystem::path> shares;             ///< folders in which it writes for real; likewise
  std::uintmax_t limit_bytes = std::uintmax_t{1} << 30;  ///< largest folder that is copied
  std::filesystem::path temporary;                       ///< TMPDIR of the command; set by prepare_view()
  bool covers_outside = false;     ///< what it writes beside its folder and its caches is kept apart as well, and told
  std::vector<std::string> notes;  ///< sentences for the user
  /// Set by prepare_view(), before the command's variables are: where programs keep what they make or download once,
  /// and the run's own folder → the one that it has it instead of.
  std::vector<std::filesystem::path> caches;
  std::map<std::filesystem::path, std::filesystem::path> own_caches;
};

/// Settles Auto, makes the folders of the run, and the copy where there is to be one; nothing for None. Throws
/// std::runtime_error with a sentence where there can be no such view.
[[nodiscard]] ViewPlan prepare_view(ViewPlan plan);

/// Variables for the command: its own folder for temporary files and for compiled code, so that no run finds what
/// another left; experiment trackers write into the run's folder and send nothing. Empty for None.
[[nodiscard]] std::map<std::string, std::string> view_environment(const ViewPlan& plan);

/// Where the command starts; empty: the worker's own folder.
[[nodiscard]] std::filesystem::path start_folder(const ViewPlan& plan);

/// Makes the overlay around this process, between fork and exec. Throws std::runtime_error with a sentence; it must not
/// go on then. Nothing for other kinds.
void enter_view(const ViewPlan& plan);

/// After the command's end: writes view.json into the run's folder (README.md says what it holds), and lets this user
/// remove the layers. Throws std::runtime_error with a sentence.
void record_view(const ViewPlan& plan);

}  // namespace nocturne::command
