#pragma once

/// What can go wrong with the database, as a value. The message is one sentence or two for the user: what happened,
/// to which file, what to do.

#include <expected>
#include <string>

namespace nocturne::db {

enum class ErrorCode {
  NotFound,      ///< no such file, campaign, trial or run
  NotOurs,       ///< another program's database, or no database at all
  Newer,         ///< written by a newer version of this program
  Older,         ///< must be migrated, and cannot be (read-only)
  Damaged,       ///< torn or overwritten
  ReadOnly,      ///< the file or its folder cannot be written
  Full,          ///< no room on the disk
  Locked,        ///< another process held the file for longer than the busy timeout
  Owned,         ///< a living process tunes this campaign already
  NotOwner,      ///< this store does not hold the campaign (never began it, or released it)
  Inconsistent,  ///< the request contradicts what is stored (a trial finished twice, an unknown fingerprint, …)
  Io,            ///< any other error of the file system
};

struct Error {
  ErrorCode code = ErrorCode::Io;
  std::string message;
};

template <typename T>
using Expected = std::expected<T, Error>;

}  // namespace nocturne::db
