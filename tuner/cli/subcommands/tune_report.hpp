#pragma once

/// What `nocturne tune` says when a session is over: the answer, and the profile of the best.

#include <string>
#include <string_view>

#include "db/store.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/on_finish.hpp"

namespace nocturne::cli {

/// Says the error; the exit code.
[[nodiscard]] ExitCode database_failed(const Context& context, const db::Error& error, Finish& finish);

/// As heartbeat and --on-finish have it: "complete", "interrupted" and so on.
[[nodiscard]] std::string_view word_of(tuner::Ending ending);

/// Prints the page, or the document with --json, and writes the profile of a best that is proven, so that a night ends
/// with something to deploy. `same_command`: what goes on with the campaign, behind "nocturne tune".
[[nodiscard]] ExitCode report_session(const Context& context, const db::Store& store,
                                      const tuner::SessionResult& result, const std::string& same_command,
                                      Finish& finish);

}  // namespace nocturne::cli
