// `nocturne clean`: drops old run folders and builds, and environments where asked to. What was measured is in the
// database and stays, unless a campaign is named, which goes whole.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/unix_time.hpp"
#include "tuner/campaign_file/quantity.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/upkeep/campaign_removal.hpp"
#include "tuner/cli/upkeep/leftovers.hpp"

namespace nocturne::cli {
namespace {

struct CleanOptions {
  std::string older_than;     ///< a duration, "30d"; empty: 30 days where no size is given either
  std::string max_size;       ///< "10GiB"
  bool environments = false;  ///< those of frameworks, too
  CampaignChoice campaign;    ///< this one and nothing else; the name empty: none
  bool yes = false;           ///< false: say what would go, and remove nothing
};

constexpr std::string_view kDefaultAge = "30d";

UpkeepRule rule_of(const CleanOptions& options, const Context& context) {
  UpkeepRule rule;
  const bool is_default = options.older_than.empty() && options.max_size.empty();
  if (is_default || !options.older_than.empty()) {
    rule.older_than =
        value_or_refuse(context, ExitCode::Usage, tuner::parse_duration(is_default ? kDefaultAge : options.older_than));
  }
  if (!options.max_size.empty())
    rule.max_bytes = value_or_refuse(context, ExitCode::Usage, tuner::parse_size(options.max_size));
  return rule;
}

std::string_view kind_text(Leftover::Kind kind) {
  if (kind == Leftover::Kind::Environment) return "environment";
  return kind == Leftover::Kind::Run ? "run" : "build";
}

nlohmann::json leftover_json(const Leftover& leftover) {
  return {{"kind", kind_text(leftover.kind)},
          {"name", leftover.name},
          {"folder", leftover.folder.string()},
          {"bytes", leftover.bytes},
          {"last_used", utc_text(leftover.used_unix_ns)}};
}

std::int64_t total_bytes(const std::vector<Leftover>& leftovers) {
  std::int64_t bytes = 0;
  for (const Leftover& each : leftovers) bytes += each.bytes;
  return bytes;
}

/// Why what stays must stay: a reason a line, with how many.
void print_kept(std::ostream& out, const std::vector<Leftover>& all) {
  std::map<std::string, std::size_t> reasons;
  for (const Leftover& each : all)
    if (!each.kept_because.empty()) ++reasons[fmt::format("{}: {}", kind_text(each.kind), each.kept_because)];
  for (const auto& [reason, count] : reasons) out << fmt::format("{} must stay ({})\n", count, one_line(reason));
}

void print_leftovers(const Context& context, const std::vector<Leftover>& chosen) {
  Table table({{"what"}, {"last used"}, {"size", Align::Right}, {"folder"}});
  for (const Leftover& each : chosen) {
    table.add({Cell(std::string(kind_text(each.kind))), Cell(time_text(each.used_unix_ns)),
               Cell(bytes_text(each.bytes)), Cell(each.folder.string())});
  }
  if (!table.empty()) table.print(context);
}

void setup(CLI::App& subcommand, CleanOptions& options) {
  add_value(subcommand, "--older-than", options.older_than, "DURATION",
            fmt::format("Drop what was not used for this long (default without --max-size: {})", kDefaultAge),
            time_span());
  add_value(subcommand, "--max-size", options.max_size, "SIZE", "Then drop the oldest until the rest is no larger",
            byte_size());
  subcommand.add_flag("--environments", options.environments,
                      "Environments of frameworks, too, that no campaign used for this long");
  CLI::Option* campaign = add_value(subcommand, "--campaign", options.campaign.name, "NAME",
                                    "Take this campaign out of the database, with all that was measured in it",
                                    [](const std::string& name) { return name.empty() ? "'' names no campaign" : ""; });
  for (const char* other : {"--older-than", "--max-size", "--environments"})
    campaign->excludes(subcommand.get_option(other));
  add_value(subcommand, "--generation", options.campaign.generation, "N",
            "Which generation of it; must be said where it has several", whole_number(1))
      ->needs(campaign);
  subcommand.add_flag("--yes", options.yes, "Do it; without, only say what would go");
  subcommand.footer(
      "Run folders that no record names, left by a kill, by 'noise' or by 'verify', go whatever their age. What was\n"
      "measured stays in the database: folders hold requests, events and logs, and builds are made again when they\n"
      "are needed. Runs and builds of a campaign that is being tuned stay, and so do builds that a profile in the\n"
      "data folder runs. Profiles written elsewhere are not known: export again after their build is gone.\n"
      "Environments take gigabytes and are installed again when they are needed. They stay unless asked for; those\n"
      "that a profile or a process uses stay even then.\n"
      "\n"
      "A campaign that is taken out goes with its trials, verdicts and run folders, and nothing brings it back; first\n"
      "it is said what goes. Exported profiles and pages stay, and so do runs that other campaigns reuse.\n"
      "\n"
      "Examples:\n"
      "  nocturne clean\n"
      "  nocturne clean --older-than 7d --yes\n"
      "  nocturne clean --environments --older-than 7d\n"
      "  nocturne clean --max-size 10GiB --yes\n"
      "  nocturne clean --campaign evening --generation 1\n");
}

/// The one that is meant. Throws Refusal where that is not certain, or where it is being tuned.
db::CampaignSummary campaign_to_remove(const Context& context, const db::Store& store, const CampaignChoice& choice) {
  db::CampaignSummary campaign = choose_campaign(context, store, choice);
  std::vector<std::int64_t> generations;
  for (const db::CampaignSummary& each : store.list_campaigns())
    if (each.name == campaign.name) generations.push_back(each.generation);
  std::ranges::sort(generations);
  if (!choice.generation && generations.size() > 1) {
    refuse(context, ExitCode::Usage,
           fmt::format("campaign '{}' has the generations {}: say with --generation which is to go", campaign.name,
                       fmt::join(generations, ", ")));
  }
  if (campaign.owner_pid) {
    refuse(
        context, ExitCode::Unavailable,
        fmt::format("campaign '{}' is being tuned by process {}: end that first", campaign.name, *campaign.owner_pid));
  }
  return campaign;
}

void print_removal(std::ostream& out, const CampaignRemoval& removal) {
  const db::CampaignSummary& campaign = removal.campaign;
  out << fmt::format("Campaign  {}, generation {}, begun {}\n", campaign.name, campaign.generation,
                     time_text(campaign.created_unix_ns));
  out << fmt::format("Goes      all of it: trials {}, run folders {} ({})\n", campaign.trials, removal.folders.size(),
                     bytes_text(removal.bytes));
  if (removal.reused > 0)
    out << fmt::format("Stays     runs that other campaigns reuse: of trials {}\n", removal.reused);
  if (!removal.learnt.empty()) {
    out << fmt::format(
        "Missed    by {}, which began with what it knows: continued, that proposes what it would without\n",
        fmt::join(removal.learnt, "; "));
  }
}

/// What the database came to when its unused pages were given back, in a sentence.
std::string compacted_text(db::Store& store, const Context& context) {
  for (const db::CampaignSummary& each : store.list_campaigns()) {
    if (each.owner_pid) {
      return fmt::format("The database keeps its size, for '{}' is being tuned; what is free in it is used again.",
                         each.name);
    }
  }
  std::error_code ignored;
  const auto before = static_cast<std::int64_t>(std::filesystem::file_size(context.database(), ignored));
  try {
    store.compact();
  } catch (const db::Error& error) {
    return fmt::format("The database keeps its size: {}", error.what());
  }
  const auto after = static_cast<std::int64_t>(std::filesystem::file_size(context.database(), ignored));
  return fmt::format("The database has {}, before {}.", bytes_text(after), bytes_text(before));
}

/// Negative where a folder could not be removed.
ExitCode take_campaign_out(const CleanOptions& options, const Context& context) {
  look_for_database(context);
  auto store = open_database(context, options.yes ? db::Mode::ReadWrite : db::Mode::ReadOnly);
  const CampaignRemoval removal = plan_removal(store, context, campaign_to_remove(context, store, options.campaign));
  std::vector<std::filesystem::path> left;
  if (options.yes) left = remove_campaign(removal, store, context);
  for (const std::filesystem::path& folder : left)
    std::ignore = complain(context, ExitCode::Negative, fmt::format("cannot remove {}", folder.string()));
  const ExitCode code = left.empty() ? ExitCode::Ok : ExitCode::Negative;
  const std::string database = options.yes ? compacted_text(store, context) : "";
  if (context.json) {
    print_json(context, "clean-campaign",
               {{"dry_run", !options.yes},
                {"campaign", removal.campaign.name},
                {"generation", removal.campaign.generation},
                {"trials", removal.campaign.trials},
                {"folders", removal.folders.size()},
                {"bytes", removal.bytes},
                {"reused_trials", removal.reused},
                {"missed_by", removal.learnt},
                {"folders_left", left.size()}});
    return code;
  }
  print_removal(*context.out, removal);
  *context.out << (options.yes ? "Taken out. " + database : "Would take it out. Add --yes to do it.") << '\n';
  return code;
}

/// Negative where something could not be removed.
ExitCode run(const CleanOptions& options, Context& context) {
  if (!options.campaign.name.empty()) return take_campaign_out(options, context);
  const UpkeepRule rule = rule_of(options, context);
  std::error_code ignored;
  const bool exists = std::filesystem::exists(context.database(), ignored);
  auto store = open_database(context, options.yes && exists ? db::Mode::ReadWrite : db::Mode::ReadOnly);
  const std::int64_t now = tuner::now_unix_ns();
  const auto all = find_leftovers(store, context, now, {.environments = options.environments});
  const std::vector<Leftover> chosen = choose_leftovers(all, rule, now);

  std::vector<Leftover> removed;
  ExitCode code = ExitCode::Ok;
  for (const Leftover& each : chosen) {
    if (!options.yes) continue;
    if (const auto done = remove_leftover(each, store, context))
      removed.push_back(each);
    else
      code = complain(context, ExitCode::Negative, done.error());
  }
  if (context.json) {
    nlohmann::json document = {{"dry_run", !options.yes},
                               {"chosen", json_list(chosen, leftover_json)},
                               {"chosen_bytes", total_bytes(chosen)},
                               {"removed", removed.size()},
                               {"removed_bytes", total_bytes(removed)},
                               {"kept", all.size() - removed.size()}};
    print_json(context, "clean", document);
    return code;
  }
  print_leftovers(context, chosen);
  if (options.yes) {
    *context.out << fmt::format("Removed {} of {} folders, {}.\n", removed.size(), all.size(),
                                bytes_text(total_bytes(removed)));
  } else {
    *context.out << fmt::format("Would remove {} of {} folders, {}. Add --yes to do it.\n", chosen.size(), all.size(),
                                bytes_text(total_bytes(chosen)));
  }
  print_kept(*context.err, all);
  return code;
}

}  // namespace

SubcommandAction add_clean(CLI::App& subcommand) {
  return add_options<CleanOptions>(subcommand);
}

}  // namespace nocturne::cli
