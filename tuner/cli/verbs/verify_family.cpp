// `nocturne verify --all`, and of several profiles: one sequential test.

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/measuring/measuring.hpp"
#include "tuner/cli/measuring/progress_display.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/colour.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/verbs/verify.hpp"
#include "tuner/deploy/family_verification.hpp"
#include "tuner/deploy/profile_member.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

/// A profile in the family.
struct FamilyProfile {
  fs::path file;
  std::unique_ptr<deploy::ProfileMember> member;  ///< null: `finding` says why it cannot be measured
  deploy::FamilyFinding finding;
  std::vector<std::string> differences;  ///< of the machine, in words
};

/// Opens what can be measured; the profiles and what they hang on outlive it.
class FamilyDesk {
 public:
  FamilyDesk(const Context& context, db::Store& store)
      : installation_(tuner::find_installation()),
        machine_(measure::probe_machine({.onednn_prefix = installation_.onednn_prefix})),
        fingerprint_(measure::fingerprint_of(machine_)),
        frameworks_(frameworks_here(context, installation_)),
        display_(context),
        signals_(
            interruption_,
            {.say = [&context](const std::string& sentence) { *context.err << '\n' + sentence + '\n'
                                                                           << std::flush; }}),
        bench_{.store = store,
               .observer = display_,
               .clock = clock_,
               .interruption = interruption_,
               .fingerprint = fingerprint_,
               .parse = [this](const nlohmann::json& document) { return parse(document); },
               .make_executor = [this, &context](const tuner::CampaignSpec& spec) -> std::unique_ptr<tuner::Executor> {
                 return std::make_unique<tuner::LocalExecutor>(
                     spec, executor_options(context, installation_, machine_, frameworks_));
               }} {}

  void open(FamilyProfile& each, const deploy::VerificationSettings& settings) const {
    const auto profile = deploy::load_profile(each.file);
    if (!profile) {
      each.finding.because = profile.error();
      return;
    }
    for (const auto& field : profile->measured_on.machine.differences(fingerprint_)) {
      if (profile->measured_on.machine.find(field.name) == nullptr) continue;
      each.differences.push_back(fmt::format("{} was '{}' and is '{}'", field.name, field.before, field.now));
    }
    auto member = deploy::ProfileMember::open(bench_, *profile, settings);
    if (member) {
      each.member = std::move(*member);
    } else {
      each.finding.because = member.error();
    }
  }

  [[nodiscard]] const tuner::Clock& clock() const { return clock_; }
  [[nodiscard]] bool interrupted() const { return interruption_.requested(); }
  [[nodiscard]] ExitCode interruption_code() const { return signals_.interruption_code(); }
  void clear() { display_.clear(); }

 private:
  [[nodiscard]] std::expected<tuner::CampaignSpec, std::string> parse(const nlohmann::json& document) const {
    auto spec =
        tuner::parse_campaign(document.dump(), "the profile", "/", measure::facts_of(machine_), frameworks_.get());
    if (!spec) return std::unexpected(one_line(tuner::to_text(spec.error())));
    return std::move(*spec);
  }

  tuner::Installation installation_;
  measure::MachineFacts machine_;
  space::Fingerprint fingerprint_;
  std::shared_ptr<const tuner::Frameworks> frameworks_;
  ProgressDisplay display_;
  tuner::SystemClock clock_;
  tuner::Interruption interruption_;
  SignalWatch signals_;
  deploy::ProfileBench bench_;
};

nlohmann::json family_json(const FamilyProfile& each) {
  nlohmann::json document = {{"profile", each.file.string()},
                             {"finding", deploy::to_text(each.finding.finding)},
                             {"because", each.finding.because},
                             {"differences", each.differences}};
  if (const auto& comparison = each.finding.comparison) {
    document["gain_percent"] = comparison->gain_percent;
    document["low_percent"] = comparison->low_percent;
    document["high_percent"] = comparison->high_percent;
    document["pairs"] = comparison->pairs;
  }
  return document;
}

void print_family(const Context& context, const std::vector<FamilyProfile>& family) {
  Table table({{"profile"},
               {"finding"},
               {"gain", Align::Right},
               {"from", Align::Right},
               {"to", Align::Right},
               {"pairs", Align::Right},
               {"why"}});
  for (const FamilyProfile& each : family) {
    const bool holds = each.finding.finding == deploy::Finding::Holds;
    const auto number = [&](double measure::Comparison::* field) {
      return each.finding.comparison ? fmt::format("{:+.1f} %", *each.finding.comparison.*field) : std::string();
    };
    table.add({Cell(each.file.stem().string()),
               Cell(std::string(deploy::to_text(each.finding.finding)), holds ? Style::Good : Style::Warning),
               Cell(number(&measure::Comparison::gain_percent)), Cell(number(&measure::Comparison::low_percent)),
               Cell(number(&measure::Comparison::high_percent)),
               Cell(each.finding.comparison ? std::to_string(each.finding.comparison->pairs) : std::string()),
               Cell(each.finding.because)});
  }
  table.print(context);
  for (const FamilyProfile& each : family) {
    for (const std::string& difference : each.differences) {
      *context.out << each.file.stem().string() << ": " << printable(difference) << '\n';
    }
  }
  *context.out << "That any of these findings is wrong has a chance of at most 5 %.\n";
}

}  // namespace

ExitCode run_family(const VerifyOptions& options, Context& context, const std::vector<fs::path>& files) {
  std::optional<std::chrono::nanoseconds> time;
  if (!options.time.empty()) {
    const auto parsed = tuner::parse_duration(options.time);
    if (!parsed) return complain(context, ExitCode::Usage, "--time: " + parsed.error());
    time = *parsed;
  }
  auto store = db::Store::open(context.data_folder() / "verifications.db", db::Mode::ReadWrite, store_options(context));
  if (!store) return complain(context, store.error());
  FamilyDesk desk(context, *store);
  const auto began = desk.clock().steady();
  const auto time_for = [&](std::chrono::nanoseconds work) {
    return !time || desk.clock().steady() - began + work <= *time;
  };

  std::vector<FamilyProfile> family;
  for (const fs::path& file : files) {
    FamilyProfile& each = family.emplace_back();
    each.file = file;
    if (desk.interrupted() || !time_for({})) {
      each.finding.because =
          desk.interrupted() ? "interrupted before its first pair" : "the time was over before its first pair";
      continue;
    }
    if (!context.json) *context.err << fmt::format("Preparing {}\n", file.stem().string()) << std::flush;
    desk.open(each,
              {.pairs = options.pairs, .most_pairs = options.most_pairs, .margin_percent = options.margin_percent});
    desk.clear();
  }

  std::vector<deploy::FamilyMember*> members;
  for (const FamilyProfile& each : family) members.push_back(each.member.get());
  auto findings = deploy::verify_family(members, {.pairs = options.pairs,
                                                  .most_pairs = options.most_pairs,
                                                  .margin_percent = options.margin_percent,
                                                  .time_for = time_for,
                                                  .interrupted = [&desk] { return desk.interrupted(); },
                                                  .measuring =
                                                      [&](std::size_t index, std::int64_t pair, std::size_t open) {
                                                        if (context.json) return;
                                                        desk.clear();
                                                        *context.err
                                                            << fmt::format("round {}: {} ({} open)\n", pair,
                                                                           family[index].file.stem().string(), open)
                                                            << std::flush;
                                                      }});
  desk.clear();
  bool refuted = false, unknown = false;
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (members[i] != nullptr) family[i].finding = std::move(findings[i]);
    refuted = refuted || family[i].finding.finding == deploy::Finding::DoesNotHold;
    unknown = unknown || family[i].finding.finding == deploy::Finding::NotMeasured;
  }
  if (context.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const FamilyProfile& each : family) all.push_back(family_json(each));
    print_json(context, "verify", {{"profiles", all}});
  } else {
    print_family(context, family);
  }
  if (desk.interrupted()) return desk.interruption_code();
  return refuted ? ExitCode::Negative : unknown ? ExitCode::Unavailable : ExitCode::Ok;
}

}  // namespace nocturne::cli
