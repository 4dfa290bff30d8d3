#include "tuner/cli/choice/campaign_choice.hpp"

#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/run/shell_words.hpp"
#include "space/file_contents.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/space_file.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {

void add_campaign_choice(CLI::App& subcommand, CampaignChoice& choice) {
  // Not called as the option is: newer versions of CLI11 refuse that.
  add_value(subcommand, "name", choice.name, "NAME", "Name of the campaign (default: the one opened last)");
  add_value(subcommand, "--campaign", choice.name, "NAME", "The same as the argument");
  add_value(subcommand, "--generation", choice.generation, "N", "Which generation of it (default: the one opened last)",
            whole_number(1));
}

std::string words_for(const db::CampaignSummary& campaign) {
  return fmt::format("{} --generation {}", measure::shell_quote(campaign.name), campaign.generation);
}

ExitCode complain(const Context& context, ExitCode code, std::string_view sentence) {
  *context.err << "nocturne: " << sentence << '\n';
  return code;
}

ExitCode complain(const Context& context, const db::Error& error) {
  const auto code = error.code == db::ErrorCode::NotFound ? ExitCode::NotFound
                    : error.code == db::ErrorCode::Owned  ? ExitCode::Unavailable
                                                          : ExitCode::Database;
  return complain(context, code, error.what());
}

void refuse(const Context& context, ExitCode code, std::string_view sentence) {
  throw Refusal{complain(context, code, sentence)};
}

void refuse(const Context& context, const std::vector<tuner::Problem>& problems) {
  *context.err << printable(tuner::to_text(problems)) << '\n';
  throw Refusal{ExitCode::Usage};
}

std::string text_or_refuse(const Context& context, const std::string& file, std::string_view before) {
  auto text = space::read_file(file);
  if (!text) refuse(context, ExitCode::Usage, fmt::format("{}{} cannot be read", before, file));
  return *std::move(text);
}

std::string only_action(std::string_view word, std::string_view action) {
  return word == action ? "" : fmt::format("no action is called '{}'; there is: {}", word, action);
}

void tell_notice(const Context& context, const db::Store& store) {
  if (const std::string notice = store.notice(); !notice.empty()) *context.err << "nocturne: " << notice << '\n';
}

db::StoreOptions store_options(const Context& context) {
  db::StoreOptions options;
  options.campaign_busy_timeout = std::chrono::minutes(10);  // a night does not end because a backup holds the file
  options.waiting = [&context, told = false](const db::LockWait& wait) mutable {
    constexpr std::chrono::seconds kNothingToSay{3};
    if (wait.waited < kNothingToSay) told = false;
    if (wait.waited >= kNothingToSay && !std::exchange(told, true)) {
      const auto end = std::chrono::system_clock::now() + (wait.limit - wait.waited);
      *context.err << fmt::format(
                          "nocturne: another process keeps '{0}' locked: waiting for it, until {1:%H:%M:%S} at most. "
                          "See which with 'fuser {0}'\n",
                          wait.database.string(), fmt::localtime(std::chrono::system_clock::to_time_t(end)))
                   << std::flush;
    }
    return true;
  };
  options.network.lease.waiting = [&context](const db::LeaseWait& wait) {
    const auto end = std::chrono::system_clock::now() + wait.patience;
    *context.err
        << fmt::format(
               "nocturne: '{}' was left by {} in the middle of writing: waiting for a sign of life of it, until "
               "{:%H:%M:%S} at most. To go on at once, remove '{}' when you know that it has ended; one that "
               "lives writes nothing more without that file\n",
               wait.database.string(), wait.writer, fmt::localtime(std::chrono::system_clock::to_time_t(end)),
               wait.lease.string())
        << std::flush;
  };
  return options;
}

void look_for_database(const Context& context) {
  std::error_code unknown;
  if (std::filesystem::exists(context.database(), unknown)) return;
  if (unknown) {
    refuse(context, ExitCode::Database,
           fmt::format("whether there is a database at {} cannot be seen: {}. Name another file with --db",
                       context.database().string(), unknown.message()));
  }
  refuse(context, ExitCode::NotFound,
         fmt::format("there is no database at {} yet; '{}' begins one", context.database().string(),
                     tuner::command_text({"tune", "FILE"})));
}

db::Store open_database(const Context& context, db::Mode mode) {
  if (mode == db::Mode::ReadOnly) look_for_database(context);
  auto store = db::Store::open(context.database(), mode, store_options(context));
  tell_notice(context, store);
  return store;
}

std::optional<db::Store> open_known_database(const Context& context) {
  std::error_code ignored;
  if (!std::filesystem::exists(context.database(), ignored)) return std::nullopt;
  return open_database(context);
}

db::CampaignSummary choose_campaign(const Context& context, const db::Store& store, const CampaignChoice& choice) {
  if (choice.name.empty()) {
    const auto campaigns = store.list_campaigns();
    for (const db::CampaignSummary& campaign : campaigns)
      if (!choice.generation || campaign.generation == *choice.generation) return campaign;
    if (!campaigns.empty()) {
      refuse(context, ExitCode::NotFound,
             fmt::format("no campaign has a generation {}; '{}' shows which there are", *choice.generation,
                         tuner::command_text({"list"})));
    }
    refuse(context, ExitCode::NotFound,
           fmt::format("there is no campaign in {}; '{}' begins one", context.database().string(),
                       tuner::command_text({"tune", "FILE"})));
  }
  return store.load_campaign(choice.name, choice.generation);
}

std::optional<db::CampaignSummary> find_campaign(const db::Store& store, db::CampaignId id) {
  for (db::CampaignSummary& campaign : store.list_campaigns())
    if (campaign.id == id) return std::move(campaign);
  return std::nullopt;
}

OpenCampaign open_campaign(const Context& context, const CampaignChoice& choice) {
  auto store = open_database(context);
  auto campaign = choose_campaign(context, store, choice);
  require_times(context, campaign);
  return {.store = std::move(store), .campaign = std::move(campaign)};
}

void require_times(const Context& context, const db::CampaignSummary& campaign) {
  const auto rule = tuner::stored_value_rule(campaign.spec);
  if (!rule || *rule == search::ValueRule{}) return;
  refuse(
      context, ExitCode::Usage,
      fmt::format("'{}' is a search by ask and tell whose values are no times: '{}' shows the best, '{}' all of them",
                  campaign.name, tuner::command_text("tell", "FOLDER"),
                  tuner::command_text({"export", "--campaign", campaign.name, "--format", "csv"})));
}

void require_horizons(const Context& context, const db::CampaignSummary& campaign) {
  if (tuner::is_timed_whole(tuner::sections_of(campaign.spec).worker)) {
    refuse(
        context, ExitCode::Usage,
        fmt::format("the command of campaign '{}' is timed as a whole, and trains as long as it trains: no number of "
                    "epochs is asked of it",
                    campaign.name));
  }
  if (!tuner::objective_of(campaign.spec).target) return;
  refuse(context, ExitCode::Usage,
         fmt::format("campaign '{}' minimises the time to an accuracy: its trainings end when they are there, and no "
                     "number of epochs is asked of them",
                     campaign.name));
}

}  // namespace nocturne::cli
