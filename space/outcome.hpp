#pragma once

/// Everything that can happen to a run. A failed experiment is data: an outcome and a reason, never an exception.

#include <optional>
#include <string_view>

namespace nocturne::space {

enum class Outcome {
  Ok,
  Unsupported,    ///< the worker said that it cannot do this, and why
  BuildFailed,    ///< the artifact could not be built; the compiler's words are in the log
  Failed,         ///< the worker ended with an exit code or status "failed"
  Crashed,        ///< the worker died of a signal
  Timeout,        ///< the deadline passed
  OutOfMemory,    ///< there is evidence: our own limit, the cgroup's counter, or the kernel's record
  Diverged,       ///< loss not finite
  ProtocolError,  ///< it ended well and said nonsense, or nothing
  Killed,         ///< we killed it: the campaign was interrupted. Not the configuration's fault; runs again
  Wrong,          ///< trains wrongly (the gate)
};

[[nodiscard]] std::string_view to_text(Outcome outcome);  ///< ok, unsupported, build_failed, …
[[nodiscard]] std::optional<Outcome> outcome_from_text(std::string_view text);

/// Why a run was made.
enum class Purpose { Search, Audit, Verify, Gate };

[[nodiscard]] std::string_view to_text(Purpose purpose);  ///< search, audit, verify, gate
[[nodiscard]] std::optional<Purpose> purpose_from_text(std::string_view text);

}  // namespace nocturne::space
