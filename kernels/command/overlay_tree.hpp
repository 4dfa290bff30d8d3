#pragma once

/// Overlays over folders: a process sees the files, and what it writes goes into layers of its own.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kernels/command/mount_table.hpp"

namespace nocturne::command {

/// What is written below `target` lies in `upper`.
struct Layer {
  std::filesystem::path target, upper;
};

/// A folder that no overlay can cover, as something is mounted below it, and that is built anew of its parts.
struct BuiltFolder {
  std::filesystem::path target;     ///< what it stands for
  std::filesystem::path place;      ///< where it lies
  std::vector<std::string> known;   ///< names put into it
  std::vector<std::string> copied;  ///< those of them that are copies of files
};

struct OverlayState {
  std::vector<Layer> layers;
  std::vector<BuiltFolder> built;
  std::vector<std::string> notes;
};

[[nodiscard]] nlohmann::json to_json(const OverlayState& state);
[[nodiscard]] OverlayState overlay_state_from(const nlohmann::json& json);

/// How much a tree has to cover.
struct Coverage {
  bool whole = true;                ///< what cannot be covered is an error; false: it is bound as it is, with a note
  std::uintmax_t copied_bytes = 0;  ///< largest file that is copied where a folder is built
};

/// Mounts in the mount namespace of this process, which has to be its own. Throws std::runtime_error with a sentence.
class OverlayTree {
 public:
  /// Layers are made below `layers`, an absolute folder.
  explicit OverlayTree(std::filesystem::path layers) : layers_(std::move(layers)) {}

  /// Makes `place` show the folder `real`. They may be one and the same.
  void cover(const std::filesystem::path& real, const std::filesystem::path& place, const Coverage& coverage);
  /// Likewise; where that cannot be, `place` stays as it is, with a note.
  void cover_if_possible(const std::filesystem::path& real, const std::filesystem::path& place);
  [[nodiscard]] const OverlayState& state() const { return state_; }

 private:
  void cover_entry(const std::filesystem::directory_entry& entry, BuiltFolder& built, const Coverage& coverage);
  void cover_file(const std::filesystem::path& real, BuiltFolder& built, const Coverage& coverage);
  void show_unwatched(const std::filesystem::path& real, const std::filesystem::path& place, const std::string& why);
  void build(const std::filesystem::path& real, const std::filesystem::path& place, const Coverage& coverage);
  void overlay(const std::filesystem::path& real, const std::filesystem::path& place);
  [[nodiscard]] std::filesystem::path next_folder();

  std::filesystem::path layers_;
  int folders_ = 0;
  MountTable mounts_ = MountTable::read();
  OverlayState state_;
};

/// A mount namespace of this process alone, in which it may mount: with a user namespace in which it stays the same
/// user where it needs one. Throws std::runtime_error with a sentence where the system refuses.
void enter_namespace();

/// Shows `real`, a file or a folder with what is mounted below it, at `place`.
void show(const std::filesystem::path& real, const std::filesystem::path& place);

/// A folder that can still be shown after something else has been mounted over its path.
class HeldFolder {
 public:
  explicit HeldFolder(const std::filesystem::path& path);
  HeldFolder(HeldFolder&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;
  HeldFolder& operator=(HeldFolder&&) = delete;
  ~HeldFolder();
  /// A name without any character that the options of a mount would need escaped.
  [[nodiscard]] std::string name() const { return "/proc/self/fd/" + std::to_string(number_); }
  /// Without what is mounted below it.
  void show_alone(const std::filesystem::path& place) const;

 private:
  int number_;
};

/// Makes a mounted folder this process's root, and stands in it.
void change_root(const std::filesystem::path& root);

}  // namespace nocturne::command
