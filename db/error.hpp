#pragma once

/// What can go wrong with the database, as an exception: nobody between the store and main can do anything about it.
/// The message is one sentence or two for the user: what happened, to which file, what to do.
///
/// What may be missing is no error but an empty optional.

#include <stdexcept>
#include <string>

namespace nocturne::db {

enum class ErrorCode {
  NotFound,      ///< no such file, campaign, trial or run
  NotOurs,       ///< another program's database, or no database at all
  Newer,         ///< written by a newer version of this program
  Older,         ///< must be migrated and cannot be (read-only), or is from before the first release
  Damaged,       ///< torn or overwritten
  ReadOnly,      ///< the file or its folder cannot be written
  Full,          ///< no room on the disk
  Locked,        ///< another process held the file for longer than the busy timeout
  Owned,         ///< a living process tunes this campaign already
  NotOwner,      ///< this store does not hold the campaign (never began it, or released it)
  Inconsistent,  ///< the request contradicts what is stored (a trial finished twice, an unknown fingerprint, …)
  Io,            ///< any other error of the file system
};

struct Error : std::runtime_error {
  Error(ErrorCode error, const std::string& message) : std::runtime_error(message), code(error) {}
  ErrorCode code;
};

}  // namespace nocturne::db
