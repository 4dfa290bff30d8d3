#pragma once

/// What a session says: to who watches, and into the campaign's log in the database.

#include <string>
#include <utility>
#include <vector>

#include "db/records.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

class SessionLog {
 public:
  /// The session outlives it.
  explicit SessionLog(const Session& session) : session_(session) {}

  /// A line of the log alone. A log that cannot be written stops nothing: what follows will meet the same error.
  void log(db::Level level, const std::string& what);
  /// The same, and to who watches. What is said before the campaign is open waits until then.
  void say(db::Level level, std::string sentence);
  /// The campaign is open: says what waited.
  void open();

 private:
  const Session& session_;
  bool open_ = false;
  std::vector<std::pair<db::Level, std::string>> unsaid_;
};

}  // namespace nocturne::tuner
