// `nocturne verify PROFILE`: does it still hold, here and now?

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/comparison/planned_looks.hpp"
#include "space/folder_entries.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/deployment_log.hpp"
#include "tuner/deploy/profile_member.hpp"
#include "tuner/deploy/verification.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::cli {
namespace {

struct VerifyOptions {
  std::vector<std::string> profiles;  ///< files, or names of campaigns that were exported
  bool all = false;                   ///< every profile of the profiles folder
  measure::ComparisonPolicy policy;
  std::string time;  ///< for all of them; empty: as long as it takes
};

namespace fs = std::filesystem;

struct VerifiedProfile {
  fs::path file;
  std::optional<deploy::Profile> profile;
  std::unique_ptr<deploy::ProfileMember> member;  ///< null: `found` says why it cannot be measured
  deploy::Verification found;
  std::vector<std::string> differences;         ///< how the machine differs from the profile's, in words
  std::vector<deploy::Deployment> deployments;  ///< what was seen of it last, on each host
};

/// Whether work that takes that long may still be begun.
using TimeFor = std::function<bool(std::chrono::nanoseconds)>;

/// Reads the profile and measures each side once. Why it cannot be measured; empty: it can.
std::string open_member(MeasurementContext& measuring, VerifiedProfile& each, const VerifyOptions& options) {
  auto profile = deploy::load_profile(each.file);
  if (!profile) return profile.error();
  each.profile = std::move(*profile);
  const space::Fingerprint& then = each.profile->measured_on.machine;
  for (const auto& field : then.differences(measuring.fingerprint())) {
    if (then.find(field.name) == nullptr) continue;
    each.differences.push_back(fmt::format("{} was '{}' and is '{}'", field.name, field.before, field.now));
  }
  const auto document = deploy::verification_campaign(*each.profile, options.policy);
  if (!document) return document.error();
  auto spec = measuring.parse(*document, "the profile");
  if (!spec) return spec.error();
  auto member = deploy::ProfileMember::open(
      std::move(*spec),
      {.make_executor = [&](const tuner::CampaignSpec& campaign) { return measuring.make_executor(campaign); },
       .make_session = [&](const tuner::CampaignSpec& campaign,
                           tuner::Executor& executor) { return measuring.make_session(campaign, executor); }},
      each.profile->configuration);
  if (!member) return member.error();
  each.member = std::move(*member);
  return {};
}

std::vector<VerifiedProfile> open_members(const Context& context, MeasurementContext& measuring,
                                          const std::vector<fs::path>& files, const VerifyOptions& options,
                                          const TimeFor& time_for) {
  std::vector<VerifiedProfile> profiles;
  for (const fs::path& file : files) {
    VerifiedProfile& each = profiles.emplace_back();
    each.file = file;
    if (measuring.interrupted()) {
      each.found.because = "interrupted before its first pair";
    } else if (!time_for({})) {
      each.found.because = "the time was over before its first pair";
    } else {
      if (!context.json) *context.err << fmt::format("Preparing {}\n", file.stem().string()) << std::flush;
      try {
        each.found.because = open_member(measuring, each, options);
      } catch (const db::Error& error) {
        each.found.because = error.what();  // the others are measured all the same
      }
      measuring.display().clear();
    }
  }
  return profiles;
}

/// One sequential test over all that can be measured.
void measure_members(const Context& context, MeasurementContext& measuring, std::vector<VerifiedProfile>& profiles,
                     const VerifyOptions& options, const TimeFor& time_for) {
  std::vector<VerifiedProfile*> measured;
  std::vector<tuner::PairSeries*> comparisons;
  for (VerifiedProfile& each : profiles) {
    if (!each.member) continue;
    measured.push_back(&each);
    comparisons.push_back(&each.member->comparing());
  }
  auto driver = tuner::PairDriver::open(std::move(comparisons), options.policy);
  const auto time_for_pair = [&](std::size_t i, std::chrono::nanoseconds pair) {
    return time_for(std::max(pair, measured[i]->member->forecast()));
  };
  const auto say_round = [&](std::size_t i) {
    if (context.json || measured.size() == 1) return;
    measuring.display().clear();
    *context.err << fmt::format("round {}: {} ({} open)\n", measured[i]->member->comparing().pairs() + 1,
                                measured[i]->file.stem().string(), driver.comparison().open())
                 << std::flush;
  };
  std::optional<tuner::PairsEnd> end;
  std::string why;
  try {
    end = driver.run({.time_for = time_for_pair, .measuring = say_round});
  } catch (const db::Error& error) {
    why = error.what();  // what the pairs by then tell is told
  }
  measuring.display().clear();
  if (end == tuner::PairsEnd::Interrupted) why = "interrupted";
  if (end == tuner::PairsEnd::OutOfTime) why = "the time is over";
  if (end == tuner::PairsEnd::Complete) {
    why = fmt::format("{} pairs do not tell, more do (--most-pairs)",
                      std::max(options.policy.pairs, options.policy.most_pairs));
  }
  try {
    driver.stop();
  } catch (const db::Error&) {
    if (end) throw;
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    measured[i]->found = deploy::verification_of(driver.comparison().members()[i], *measured[i]->profile,
                                                 options.policy.margin_percent, why);
  }
}

nlohmann::json to_json(const VerifiedProfile& each) {
  nlohmann::json document = {{"profile", each.file.string()},
                             {"finding", deploy::to_text(each.found.finding)},
                             {"because", each.found.because},
                             {"differences", each.differences},
                             {"deployments", json_list(each.deployments, [](const deploy::Deployment& seen) {
                                return deploy::to_json(seen);
                              })}};
  if (const auto& comparison = each.found.comparison) {
    document["gain_percent"] = comparison->gain_percent;
    document["low_percent"] = comparison->low_percent;
    document["high_percent"] = comparison->high_percent;
    document["pairs"] = comparison->pairs;
  }
  return document;
}

Style style_of(deploy::VerificationOutcome finding) {
  return finding == deploy::VerificationOutcome::Holds ? Style::Good : Style::Warning;
}

/// What the machine and deployments say of it, a line each.
std::vector<std::string> remarks_on(const VerifiedProfile& each) {
  std::vector<std::string> remarks = each.differences;
  for (const deploy::Deployment& seen : each.deployments)
    remarks.push_back(fmt::format("on {} at {}: {}: {}", seen.host, seen.time, seen.finding, seen.because));
  return remarks;
}

void print_one(const Context& context, const VerifiedProfile& each) {
  *context.out << fmt::format(
      "{} {}: {}\n", each.file.string(),
      coloured(std::string(deploy::to_text(each.found.finding)), style_of(each.found.finding), context.colour_out()),
      each.found.because);
  for (const std::string& remark : remarks_on(each)) *context.out << "  " << printable(remark) << '\n';
}

void print_all(const Context& context, const std::vector<VerifiedProfile>& profiles) {
  Table table({{"profile"},
               {"finding"},
               {"gain", Align::Right},
               {"from", Align::Right},
               {"to", Align::Right},
               {"pairs", Align::Right},
               {"why"}});
  for (const VerifiedProfile& each : profiles) {
    const auto& comparison = each.found.comparison;
    const auto number = [&](double measure::Comparison::* field) {
      return comparison ? fmt::format("{:+.1f} %", *comparison.*field) : std::string();
    };
    table.add({Cell(each.file.stem().string()),
               Cell(std::string(deploy::to_text(each.found.finding)), style_of(each.found.finding)),
               Cell(number(&measure::Comparison::gain_percent)), Cell(number(&measure::Comparison::low_percent)),
               Cell(number(&measure::Comparison::high_percent)),
               Cell(comparison ? std::to_string(comparison->pairs) : std::string()), Cell(each.found.because)});
  }
  table.print(context);
  for (const VerifiedProfile& each : profiles)
    for (const std::string& remark : remarks_on(each))
      *context.out << each.file.stem().string() << ": " << printable(remark) << '\n';
  *context.out << "That any of these findings is wrong has a chance of at most 5 %.\n";
}

void print_profiles(const Context& context, const std::vector<VerifiedProfile>& profiles, bool all) {
  if (context.json) {
    const auto form = [](const VerifiedProfile& each) { return to_json(each); };
    print_json(context, "verify", {{"profiles", json_list(profiles, form)}});
  } else if (profiles.size() == 1 && !all) {
    print_one(context, profiles.front());
  } else {
    print_all(context, profiles);
  }
}

std::vector<fs::path> exported_profiles(const Context& context) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : space::entries_of(context.profiles_folder()))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// Before hours are spent: each of them can be read.
std::vector<fs::path> chosen_profiles(const VerifyOptions& options, const Context& context) {
  std::vector<fs::path> files;
  for (const std::string& word : options.profiles) {
    (void)open_profile(word, context);
    files.push_back(profile_file(word, context));
  }
  if (options.all) files = exported_profiles(context);
  if (!files.empty()) return files;
  if (!options.all) refuse(context, ExitCode::Usage, "name a profile, or --all for every exported one");
  refuse(context, ExitCode::NotFound, "no profile is in " + context.profiles_folder().string());
}

void setup(CLI::App& subcommand, VerifyOptions& options) {
  auto* profiles = add_value(subcommand, "profile", options.profiles, "PROFILE...",
                             "A profile's JSON file, or the name of a campaign that was exported");
  subcommand.add_flag("--all", options.all, "Every profile of the profiles folder")->excludes(profiles);
  add_pair_options(subcommand, options.policy);
  add_value(subcommand, "--margin", options.policy.margin_percent, "PERCENT",
            "Closer than this many per cent is the same (default: 1)", number_within(0, 50));
  add_value(subcommand, "--time", options.time, "DURATION", "No pair is begun that would end later: 30min, 2h",
            time_span());
  subcommand.footer(
      "Measures the profile's configuration against the default it was compared with, both alive and in turns.\n"
      "Nothing that was measured before is used; what is missing is built. Exit code 0: it holds, 1: it does not, 5:\n"
      "it could not be measured. The evidence is kept in verifications.db of the data folder.\n"
      "\n"
      "Several profiles are one sequential test: in rounds, a pair of each that is still open; a profile that is\n"
      "decided leaves its share of the error (5 % that any finding is wrong) to the others (Holm). Ended early, by\n"
      "Ctrl-C or by --time, it says of each what the pairs by then tell.\n"
      "\n"
      "Examples:\n"
      "  nocturne verify mnist-evening\n"
      "  nocturne verify /etc/nocturne/train.json --pairs 12\n"
      "  nocturne verify --all --time 1h\n"
      "  nocturne verify --all --json\n");
}

/// All profiles are one sequential test. Ok: all hold. Negative: one does not. Unavailable: one could not be measured,
/// and none was found not to hold.
ExitCode run(const VerifyOptions& options, Context& context) {
  const auto files = chosen_profiles(options, context);
  const auto time = time_limit(context, options.time);
  MeasurementContext measuring(context);
  // In a database of its own, where the evidence stays: `nocturne --db FILE list`, `show`.
  measuring.begin(verifications_database(context));
  const auto began = measuring.clock().steady();
  const auto time_for = [&](std::chrono::nanoseconds work) {
    return !time || measuring.clock().steady() - began + work <= *time;
  };
  auto profiles = open_members(context, measuring, files, options, time_for);
  const auto deployments = deploy::read_deployments(context.deployments_folder());
  for (VerifiedProfile& each : profiles)
    if (each.profile) each.deployments = deploy::last_deployments(deployments, each.profile->campaign);
  measure_members(context, measuring, profiles, options, time_for);
  print_profiles(context, profiles, options.all);
  if (measuring.interrupted()) return measuring.interruption_code();
  const auto any = [&](deploy::VerificationOutcome finding) {
    return std::ranges::any_of(profiles, [&](const VerifiedProfile& each) { return each.found.finding == finding; });
  };
  if (any(deploy::VerificationOutcome::DoesNotHold)) return ExitCode::Negative;
  return any(deploy::VerificationOutcome::NotMeasured) ? ExitCode::Unavailable : ExitCode::Ok;
}

}  // namespace

SubcommandAction add_verify(CLI::App& subcommand) {
  return add_options<VerifyOptions>(subcommand);
}

}  // namespace nocturne::cli
