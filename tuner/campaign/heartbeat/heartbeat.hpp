#pragma once

/// What a running tuner says of itself to those who look from outside (`nocturne status`, other tools): one small JSON
/// file a campaign, beside its database, replaced as a whole whenever something changes, and every few seconds of a
/// run.
///
/// It is a courtesy. A file that cannot be written stops nothing; one that is torn, stale or another program's is read
/// as none at all. The database alone says what was measured.
///
/// Keys: those of Heartbeat, times in nanoseconds; `configuration` is an object, `process` has pid, start_ticks,
/// boot_id, pid_namespace and host. What is not known is absent.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "db/process_identity.hpp"
#include "db/records.hpp"

namespace nocturne::tuner {

struct Heartbeat {
  std::string campaign;
  std::int64_t generation = 1;
  std::string file;  ///< the campaign file, to go on with; empty: a command was given
  db::ProcessIdentity process;
  std::int64_t began_unix_ns = 0;  ///< the session
  std::int64_t written_unix_ns = 0;
  std::int64_t written_steady_ns = 0;  ///< CLOCK_MONOTONIC, which all processes of a boot share
  /// The writer promises its next word by then, by the same clock. Empty: it waits for something without a limit.
  std::optional<std::int64_t> next_by_steady_ns;

  /// opening, waiting, preflight check, preparing, measuring, choosing, finals, ended.
  std::string activity;
  std::string doing;  ///< the same for people: "measuring trial 31"
  std::int64_t since_unix_ns = 0;
  std::int64_t since_steady_ns = 0;
  /// By how much the run in hand has outlived its deadline, where it has: its supervisor should have ended it.
  std::optional<std::int64_t> overdue_ns;
  std::optional<std::int64_t> trial;
  nlohmann::json configuration;  ///< null where none is in hand

  std::int64_t finished = 0, failed = 0;  ///< trials, of all sessions
  std::optional<std::int64_t> last_trial, last_trial_unix_ns;
  std::optional<std::int64_t> best_trial;
  std::optional<double> best_seconds, ratio;         ///< ratio: time of the default over that of the best, as searched
  std::optional<std::int64_t> expected_end_unix_ns;  ///< when the whole campaign should end, finals included

  std::string ending;   ///< how the session ended: complete, interrupted, out_of_time, machine_changed, error
  std::string because;  ///< why, a sentence

  [[nodiscard]] bool ended() const { return activity == "ended"; }
};

[[nodiscard]] nlohmann::json to_json(const Heartbeat& heartbeat);
/// Empty: not the heartbeat of anything.
[[nodiscard]] std::optional<Heartbeat> heartbeat_from_json(const nlohmann::json& document);

/// DATABASE-heartbeat-ID.json
[[nodiscard]] std::filesystem::path heartbeat_file(const std::filesystem::path& database, db::CampaignId campaign);

/// Replaces the file (mode 0600); false where that was not possible. Not flushed to the disk: after a power failure the
/// database tells what there is to tell.
bool write_heartbeat(const std::filesystem::path& file, const Heartbeat& heartbeat);
/// Empty: there is none, or it cannot be read, or is no whole one.
[[nodiscard]] std::optional<Heartbeat> read_heartbeat(const std::filesystem::path& file);

/// When the last tuner of this campaign spoke last, if it is gone and did not say that it ended.
[[nodiscard]] std::optional<std::int64_t> last_word_before_kill(const std::filesystem::path& database,
                                                                db::CampaignId campaign);

}  // namespace nocturne::tuner
