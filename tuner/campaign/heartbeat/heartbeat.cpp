#include "tuner/campaign/heartbeat/heartbeat.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "space/json_field.hpp"
#include "tuner/executor/stray_runs.hpp"

namespace nocturne::tuner {
namespace {

using nlohmann::json;
using space::take_field;

/// Far more than any heartbeat has: what is larger is another file.
constexpr std::size_t kLargestHeartbeat = 256 << 10;

template <typename T>
void put_known(json& document, const char* key, const std::optional<T>& value) {
  if (value) document[key] = *value;
}

bool write_whole(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

json to_json(const Heartbeat& heartbeat) {
  json document = {{"campaign", heartbeat.campaign},
                   {"generation", heartbeat.generation},
                   {"file", heartbeat.file},
                   {"process", process_to_json(heartbeat.process)},
                   {"began_unix_ns", heartbeat.began_unix_ns},
                   {"written_unix_ns", heartbeat.written_unix_ns},
                   {"written_steady_ns", heartbeat.written_steady_ns},
                   {"activity", heartbeat.activity},
                   {"doing", heartbeat.doing},
                   {"since_unix_ns", heartbeat.since_unix_ns},
                   {"since_steady_ns", heartbeat.since_steady_ns},
                   {"finished", heartbeat.finished},
                   {"failed", heartbeat.failed}};
  put_known(document, "next_by_steady_ns", heartbeat.next_by_steady_ns);
  put_known(document, "overdue_ns", heartbeat.overdue_ns);
  put_known(document, "trial", heartbeat.trial);
  if (!heartbeat.configuration.is_null()) document["configuration"] = heartbeat.configuration;
  put_known(document, "last_trial", heartbeat.last_trial);
  put_known(document, "last_trial_unix_ns", heartbeat.last_trial_unix_ns);
  put_known(document, "best_trial", heartbeat.best_trial);
  put_known(document, "best_seconds", heartbeat.best_seconds);
  put_known(document, "ratio", heartbeat.ratio);
  put_known(document, "expected_end_unix_ns", heartbeat.expected_end_unix_ns);
  if (heartbeat.ended()) {
    document["ending"] = heartbeat.ending;
    document["because"] = heartbeat.because;
  }
  return document;
}

std::optional<Heartbeat> heartbeat_from_json(const json& document) {
  if (!document.is_object()) return std::nullopt;
  Heartbeat heartbeat;
  take_field(document, "campaign", heartbeat.campaign);
  take_field(document, "generation", heartbeat.generation);
  take_field(document, "file", heartbeat.file);
  if (const auto process = document.find("process"); process != document.end() && process->is_object())
    heartbeat.process = process_from_json(*process);
  take_field(document, "began_unix_ns", heartbeat.began_unix_ns);
  take_field(document, "written_unix_ns", heartbeat.written_unix_ns);
  take_field(document, "written_steady_ns", heartbeat.written_steady_ns);
  take_field(document, "next_by_steady_ns", heartbeat.next_by_steady_ns);
  take_field(document, "activity", heartbeat.activity);
  take_field(document, "doing", heartbeat.doing);
  take_field(document, "since_unix_ns", heartbeat.since_unix_ns);
  take_field(document, "since_steady_ns", heartbeat.since_steady_ns);
  take_field(document, "overdue_ns", heartbeat.overdue_ns);
  take_field(document, "trial", heartbeat.trial);
  if (const auto found = document.find("configuration"); found != document.end() && found->is_object())
    heartbeat.configuration = *found;
  take_field(document, "finished", heartbeat.finished);
  take_field(document, "failed", heartbeat.failed);
  take_field(document, "last_trial", heartbeat.last_trial);
  take_field(document, "last_trial_unix_ns", heartbeat.last_trial_unix_ns);
  take_field(document, "best_trial", heartbeat.best_trial);
  take_field(document, "best_seconds", heartbeat.best_seconds);
  take_field(document, "ratio", heartbeat.ratio);
  take_field(document, "expected_end_unix_ns", heartbeat.expected_end_unix_ns);
  take_field(document, "ending", heartbeat.ending);
  take_field(document, "because", heartbeat.because);
  if (heartbeat.campaign.empty() || heartbeat.activity.empty() || heartbeat.process.pid <= 0) return std::nullopt;
  return heartbeat;
}

std::filesystem::path heartbeat_file(const std::filesystem::path& database, db::CampaignId campaign) {
  return database.string() + fmt::format("-heartbeat-{}.json", campaign);
}

bool write_heartbeat(const std::filesystem::path& file, const Heartbeat& heartbeat) {
  // One tuner a campaign: the name of the new file is its own.
  const std::string fresh = file.string() + ".new";
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return false;
  const std::string text = to_json(heartbeat).dump(1, ' ', false, json::error_handler_t::replace) + '\n';
  const bool written = write_whole(descriptor, text);
  if (::close(descriptor) == 0 && written && ::rename(fresh.c_str(), file.c_str()) == 0) return true;
  ::unlink(fresh.c_str());
  return false;
}

std::optional<Heartbeat> read_heartbeat(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t count = 0;
  while (text.size() <= kLargestHeartbeat && (count = ::read(descriptor, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(descriptor);
  if (count != 0) return std::nullopt;
  return heartbeat_from_json(json::parse(text, nullptr, false));
}

std::optional<std::int64_t> last_word_before_kill(const std::filesystem::path& database, db::CampaignId campaign) {
  const auto heartbeat = read_heartbeat(heartbeat_file(database, campaign));
  if (!heartbeat || heartbeat->ended() || heartbeat->written_unix_ns <= 0) return std::nullopt;
  if (db::life_of(heartbeat->process) != db::Life::Dead) return std::nullopt;
  return heartbeat->written_unix_ns;
}

}  // namespace nocturne::tuner
