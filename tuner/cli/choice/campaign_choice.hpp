#pragma once

/// How subcommands find the database and the campaign they are asked about, and say that there is none.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign_file/problem.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

/// Which campaign: `[NAME] [--generation N]`, or `--campaign NAME`.
struct CampaignChoice {
  std::string name;  ///< empty: the one opened last
  std::optional<std::int64_t> generation{};
};

void add_campaign_choice(CLI::App& subcommand, CampaignChoice& choice);

/// The words that name this very campaign to a subcommand, for commands that a page proposes: "evening --generation 2".
[[nodiscard]] std::string words_for(const db::CampaignSummary& campaign);

/// Prints "nocturne: SENTENCE" on context.err and gives the code back: `return complain(…);`.
[[nodiscard]] ExitCode complain(const Context& context, ExitCode code, std::string_view sentence);
/// The same for an error of the database, of which the code says how the program ends.
[[nodiscard]] ExitCode complain(const Context& context, const db::Error& error);

/// Ends the subcommand: what is wrong was said. Caught where subcommands are run (cli.cpp), and by whom has more to do.
struct Refusal {
  ExitCode code;
};
/// complain(), and the end of the subcommand.
[[noreturn]] void refuse(const Context& context, ExitCode code, std::string_view sentence);

/// What `result` holds. Where it is an error, the subcommand ends with `code`, and says `before` and the error.
template <typename T>
T value_or_refuse(const Context& context, ExitCode code, std::expected<T, std::string> result,
                  std::string_view before = {}) {
  if (!result) refuse(context, code, std::string(before) + result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Ends the subcommand with Usage; says what is wrong with a file.
[[noreturn]] void refuse(const Context& context, const std::vector<tuner::Problem>& problems);

/// What was read from a file. Where that has problems, they are said and the subcommand ends.
template <typename T>
T value_or_refuse(const Context& context, std::expected<T, std::vector<tuner::Problem>> result) {
  if (!result) refuse(context, result.error());
  return *std::move(result);
}

/// The text of a file. Where it cannot be read, the subcommand ends with Usage, and says `before` and its name.
[[nodiscard]] std::string text_or_refuse(const Context& context, const std::string& file, std::string_view before = {});

/// For a positional that takes one word: says which, where it is another.
[[nodiscard]] std::string only_action(std::string_view word, std::string_view action);

/// Says in a line where the database lies on a network file system, and how old is what is read from there.
void tell_notice(const Context& context, const db::Store& store);

/// For whoever opens a database to write: on a network file system it may have to wait for a writer that went silent,
/// and says on context.err for whom, until when, and how to go on sooner. The context outlives what they are used for.
/// Once a campaign is begun, writes wait ten minutes for another program that keeps the file locked.
[[nodiscard]] db::StoreOptions store_options(const Context& context);

/// Before a database is read. Throws Refusal where there is none, or where that cannot be seen.
void look_for_database(const Context& context);

/// Opens the database. Reading never creates one. Throws Refusal where there is none, else db::Error.
[[nodiscard]] db::Store open_database(const Context& context, db::Mode mode = db::Mode::ReadOnly);
/// The same for reading; empty where there is none.
[[nodiscard]] std::optional<db::Store> open_known_database(const Context& context);

/// Finds the campaign. Throws Refusal where there is none at all, else db::Error with NotFound, which says which there
/// are.
[[nodiscard]] db::CampaignSummary choose_campaign(const Context& context, const db::Store& store,
                                                  const CampaignChoice& choice);

/// The campaign with this id as it is now; empty: it is not there any more.
[[nodiscard]] std::optional<db::CampaignSummary> find_campaign(const db::Store& store, db::CampaignId id);

struct OpenCampaign {
  db::Store store;  ///< for reading
  db::CampaignSummary campaign;
};
/// Both of these and require_times(), as most subcommands that read begin.
[[nodiscard]] OpenCampaign open_campaign(const Context& context, const CampaignChoice& choice);

/// For pages that compare times. Throws Refusal where it is a search by ask and tell whose larger values are better, or
/// whose differences count.
void require_times(const Context& context, const db::CampaignSummary& campaign);

/// For who asks about a number of epochs. Throws Refusal where the campaign minimises the time to an accuracy: its
/// trainings end when they are there.
void require_horizons(const Context& context, const db::CampaignSummary& campaign);

}  // namespace nocturne::cli
