#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

void Session::log(db::Level level, const std::string& what) const {
  store.try_append_event({.campaign = campaign, .time_unix_ns = 0, .level = level, .what = what});
}

void Session::say(db::Level level, const std::string& sentence) const {
  observer.note(sentence);
  log(level, sentence);
}

void SessionLog::say(db::Level level, std::string sentence) {
  if (!open_) {
    unsaid_.emplace_back(level, std::move(sentence));
    return;
  }
  session_.say(level, sentence);
}

void SessionLog::open() {
  open_ = true;
  for (auto& [level, sentence] : std::exchange(unsaid_, {})) say(level, std::move(sentence));
}

}  // namespace nocturne::tuner
