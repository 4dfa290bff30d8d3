#include "tuner/campaign/observer.hpp"

#include <ctime>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/word_list.hpp"

namespace nocturne::tuner {
namespace {

std::string left_over(const Recovery& recovery) {
  std::string what;
  if (recovery.processes > 0) what = space::counted(recovery.processes, "process", "processes");
  if (recovery.control_groups > 0)
    what += (what.empty() ? "" : " and ") + space::counted(recovery.control_groups, "control group", "control groups");
  return what;
}

}  // namespace

bool Recovery::after_kill() const {
  return runs > 0 || processes > 0 || control_groups > 0 || killed_about_unix_ns.has_value();
}

std::string to_text(const Recovery& recovery) {
  if (recovery.empty()) return {};
  const bool several = recovery.trials.size() > 1;
  const std::string trials = fmt::format("trial{} {}", several ? "s" : "", fmt::join(recovery.trials, ", "));
  if (!recovery.after_kill()) {
    return fmt::format("The last session ended in {}: {} again; all that was finished is kept", trials,
                       several ? "they run" : "it runs");
  }
  std::string text = "Found after a kill";
  if (recovery.killed_about_unix_ns) {
    const auto seconds = static_cast<std::time_t>(*recovery.killed_about_unix_ns / 1'000'000'000);
    text += fmt::format(" at about {:%H:%M:%S}", fmt::localtime(seconds));
  }
  text += recovery.trials.empty() ? ": no trial was in flight"
                                  : fmt::format(": {} {} in flight and {} again", trials, several ? "were" : "was",
                                                several ? "run" : "runs");
  if (recovery.runs > 0) {
    text += fmt::format(", {} {} marked as killed", space::counted(recovery.runs, "run", "runs"),
                        recovery.runs == 1 ? "is" : "are");
  }
  if (const std::string what = left_over(recovery); !what.empty()) {
    text += fmt::format(", {} left over {} ended", what,
                        recovery.processes + recovery.control_groups == 1 ? "was" : "were");
  }
  return text + "; all that was finished is kept";
}

}  // namespace nocturne::tuner
