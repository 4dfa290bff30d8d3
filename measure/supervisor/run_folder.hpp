#pragma once

/// The private folder of a run, as tuner and supervisor use it. A worker may put there what it likes under any name: a
/// FIFO that nobody writes, a link to somebody's file, a file without end. So the folder is held by a descriptor, and
/// what lies in it is opened by what it is, not by what it is called.
///
/// Reading: only an ordinary file that has no other name; no link is followed, nothing waits, nothing is read without
/// a limit. Writing: only a file that this call has made. Errors are sentences: "log.txt is a FIFO".

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

namespace nocturne::measure {

inline constexpr const char* kOwnerFile = "owner.json";  ///< who asks for it; written first, for the tuner's own use
inline constexpr const char* kRequestFile = "request.json";
inline constexpr const char* kAloneRequestFile = "request-alone.json";  ///< beside it where the request asks for turns
inline constexpr const char* kEventsFile = "events.jsonl";
inline constexpr const char* kLogFile = "log.txt";         ///< stdout and stderr; written by the supervisor
inline constexpr const char* kResultFile = "result.json";  ///< how it ended; written by the supervisor
inline constexpr const char* kTurnsFile = "turns";         ///< FIFO, only when workers take turns

/// An open file. Move-only; closes itself.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }  ///< -1: none
  [[nodiscard]] explicit operator bool() const { return descriptor_ >= 0; }
  /// Bytes of a file from `offset` on, at most `most`. Empty at its end, or where it cannot be read.
  [[nodiscard]] std::string read_at(std::int64_t offset, std::size_t most) const;
  [[nodiscard]] std::int64_t size() const;
  /// All of it; false where the disk is full or the reader is gone.
  [[nodiscard]] bool write(std::string_view text) const;

 private:
  int descriptor_ = -1;
};

/// A folder that is held open: it stays the same whatever is renamed. Move-only.
class RunFolder {
 public:
  /// The error where it is no folder, or a link to one.
  [[nodiscard]] static std::expected<RunFolder, std::string> open(const std::filesystem::path& folder);
  /// Makes it with mode 0700, or takes an empty one over.
  [[nodiscard]] static std::expected<RunFolder, std::string> make(const std::filesystem::path& folder);

  /// An ordinary file with one name, to read.
  [[nodiscard]] std::expected<OpenFile, std::string> read(const std::string& name) const;
  /// Its bytes; the error where there are more than `most`.
  [[nodiscard]] std::expected<std::string, std::string> text(const std::string& name, std::size_t most) const;
  /// Whether there is nothing of that name.
  [[nodiscard]] bool absent(const std::string& name) const;

  /// A new file (mode 0600) to write; what has that name is removed first, never followed.
  [[nodiscard]] std::expected<OpenFile, std::string> create(const std::string& name) const;
  [[nodiscard]] std::expected<void, std::string> write(const std::string& name, std::string_view text) const;
  /// Whole or not at all: by way of NAME.new.
  [[nodiscard]] std::expected<void, std::string> replace(const std::string& name, std::string_view text) const;
  /// Cuts an ordinary file that is longer.
  void cut(const std::string& name, std::int64_t bytes) const;

  [[nodiscard]] std::expected<void, std::string> make_fifo(const std::string& name) const;
  /// Opens it for reading and writing: never waits for the other side, never fails because there is none.
  [[nodiscard]] std::expected<OpenFile, std::string> open_fifo(const std::string& name) const;

 private:
  explicit RunFolder(OpenFile folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::expected<OpenFile, std::string> open_as(const std::string& name, int flags, bool fifo) const;
  OpenFile folder_;
};

/// A JSON file of a run's folder, which any process of the run may have written or put in its place. A discarded value
/// where there is no such file, it is longer than `most` bytes, or it is no JSON.
[[nodiscard]] nlohmann::json read_run_json(const std::filesystem::path& folder, const std::string& name,
                                           std::size_t most);

}  // namespace nocturne::measure
