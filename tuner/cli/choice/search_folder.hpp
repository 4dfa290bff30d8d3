#pragma once

/// The folder of a search by ask and tell, as subcommands open and show it.

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "tuner/ask_tell/ask_tell.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// Opens the search of `folder`, or begins it with the space file; an empty `file`: it must be there already. Waits
/// half a minute where another process has it open. Throws Refusal: Usage where the file has problems or describes
/// another space, NotFound, Unavailable.
[[nodiscard]] std::unique_ptr<tuner::AskTell> open_search(const Context& context, const std::string& folder,
                                                          const std::string& file = {});

/// {"number", "configuration", "reason"}.
[[nodiscard]] nlohmann::json asked_json(const db::AskAnswer& asked);
/// {"number", "configuration", "value", "standard_error", "runs"}; null: there is none.
[[nodiscard]] nlohmann::json best_json(const tuner::SearchStanding& standing);
/// {"finished", "failed", "pending", "best"}.
[[nodiscard]] nlohmann::json standing_json(const tuner::SearchStanding& standing);
/// One line of JSON and its end, however wide the terminal is.
void print_line(const Context& context, const nlohmann::json& document);

}  // namespace nocturne::cli
