#include "tuner/cli/verbs/verify.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/runner.hpp"
#include "measure/run/sweep.hpp"
#include "space/folder_entries.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/data_state.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/choice/pair_options.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/measuring.hpp"
#include "tuner/cli/measuring/progress_display.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/colour.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/deploy/apply.hpp"
#include "tuner/deploy/verification.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

struct Verified {
  fs::path file;
  deploy::Verification verification;
  std::vector<std::string> differences;  ///< of the machine, in words
};

/// Measures one profile in a database of its own, where the evidence stays: `nocturne --db FILE list`, `show`.
class Verifier {
 public:
  Verifier(const VerifyOptions& options, const Context& context)
      : options_(options),
        context_(context),
        installation_(tuner::find_installation()),
        machine_(measure::probe_machine({.onednn_prefix = installation_.onednn_prefix})),
        fingerprint_(measure::fingerprint_of(machine_)),
        display_(context),
        signals_(interruption_, {.say = [&context](const std::string& sentence) {
                   *context.err << '\n' + sentence + '\n' << std::flush;
                 }}) {}

  [[nodiscard]] bool interrupted() const { return interruption_.requested(); }
  [[nodiscard]] ExitCode interruption_code() const { return signals_.interruption_code(); }
  [[nodiscard]] static fs::path database(const Context& context) { return context.data_folder() / "verifications.db"; }

  [[nodiscard]] Verified verify(const fs::path& file) {
    Verified result{.file = file, .verification = {}, .differences = {}};
    const auto profile = deploy::load_profile(file);
    if (!profile) {
      result.verification.because = profile.error();
      return result;
    }
    for (const auto& each : profile->measured_on.machine.differences(fingerprint_)) {
      if (profile->measured_on.machine.find(each.name) == nullptr) continue;
      result.differences.push_back(fmt::format("{} was '{}' and is '{}'", each.name, each.before, each.now));
    }
    result.verification = find_out(*profile);
    return result;
  }

 private:
  [[nodiscard]] deploy::Verification find_out(const deploy::Profile& profile) {
    const auto document = deploy::verification_campaign(
        profile,
        {.pairs = options_.pairs, .most_pairs = options_.most_pairs, .margin_percent = options_.margin_percent});
    if (!document) return {.because = document.error()};
    const auto frameworks = frameworks_here(context_, installation_);
    const auto spec =
        tuner::parse_campaign(document->dump(), "the profile", "/", measure::facts_of(machine_), frameworks.get());
    if (!spec) return {.because = one_line(tuner::to_text(spec.error()))};
    auto store = db::Store::open(database(context_), db::Mode::ReadWrite, store_options(context_));
    if (!store) return {.because = store.error().message};
    tuner::LocalExecutor executor(*spec, executor_options(context_, installation_, machine_, frameworks));
    tuner::Sitting sitting{.spec = *spec,
                           .store = *store,
                           .executor = executor,
                           .observer = display_,
                           .clock = clock_,
                           .interruption = interruption_,
                           .fingerprint_now = {},
                           .fingerprint = fingerprint_,
                           .images = tuner::data_state(spec->workload),
                           .wanted = {profile.configuration},
                           .compare_wanted = true};
    const auto ended = tuner::Campaign(sitting, true).run();
    display_.clear();
    if (!ended) return {.because = ended.error().message};
    if (ended->ending == tuner::Ending::Interrupted) return {.because = "interrupted"};
    const auto campaign = store->find_campaign(spec->name);
    if (!campaign) return {.because = campaign.error().message};
    const auto answer = tuner::answer_of(*store, *campaign);
    if (!answer) return {.because = answer.error().message};
    return deploy::verification_of(*answer, profile);
  }

  const VerifyOptions& options_;
  const Context& context_;
  tuner::Installation installation_;
  measure::MachineFacts machine_;
  space::Fingerprint fingerprint_;
  ProgressDisplay display_;
  tuner::SystemClock clock_;
  tuner::Interruption interruption_;
  SignalWatch signals_;
};

Style style_of(deploy::Finding finding) {
  return finding == deploy::Finding::Holds ? Style::Good : Style::Warning;
}

nlohmann::json to_json(const Verified& each) {
  nlohmann::json document = {{"profile", each.file.string()},
                             {"finding", deploy::to_text(each.verification.finding)},
                             {"because", each.verification.because},
                             {"differences", each.differences}};
  if (const auto& verdict = each.verification.verdict) {
    document["gain_percent"] = tuner::gain_percent(verdict->log_ratio_mean);
    document["low_percent"] = tuner::gain_percent(verdict->log_ratio_high);
    document["high_percent"] = tuner::gain_percent(verdict->log_ratio_low);
    document["pairs"] = verdict->pairs;
  }
  return document;
}

std::vector<fs::path> exported_profiles(const Context& context) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : space::entries_of(context.profiles_folder())) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

void setup(CLI::App& verb, VerifyOptions& options) {
  auto* profiles =
      verb.add_option("profile", options.profiles, "A profile's JSON file, or the name of a campaign that was exported")
          ->type_name("PROFILE...");
  verb.add_flag("--all", options.all, "Every profile of the profiles folder")->excludes(profiles);
  add_pair_options(verb, options.pairs, options.most_pairs);
  verb.add_option("--margin", options.margin_percent, "Closer than this many per cent is the same (default: 1)")
      ->type_name("PERCENT")
      ->check(number_within(0, 50));
  verb.add_option("--time", options.time, "No pair is begun that would end later: 30min, 2h")
      ->type_name("DURATION")
      ->check(time_span());
  verb.footer(
      "Measures the profile's configuration against the default it was compared with, both alive and in turns. "
      "Nothing\n"
      "that was measured before is used; what is missing is built. Exit code 0: it holds, 1: it does not, 5: it could "
      "not\n"
      "be measured. The evidence is kept in verifications.db of the data folder.\n"
      "\n"
      "Several profiles are one sequential test: in rounds, a pair of each that is still open; a profile that is "
      "decided\n"
      "leaves its share of the error (5 % that any finding is wrong) to the others (Holm). Ended early, by Ctrl-C or "
      "by\n"
      "--time, it says of each what the pairs by then tell.\n"
      "\n"
      "Examples:\n"
      "  nocturne verify mnist-evening\n"
      "  nocturne verify /etc/nocturne/train.json --pairs 12\n"
      "  nocturne verify --all --time 1h\n"
      "  nocturne verify --all --json\n");
}

ExitCode run(const VerifyOptions& options, Context& context) {
  std::vector<fs::path> files;
  for (const std::string& word : options.profiles) {
    if (const auto profile = open_profile(word, context); !profile) return profile.error();  // before hours are spent
    files.push_back(profile_file(word, context));
  }
  if (options.all) files = exported_profiles(context);
  if (files.empty()) {
    if (options.all)
      return complain(context, ExitCode::NotFound, "no profile is in " + context.profiles_folder().string());
    return complain(context, ExitCode::Usage, "name a profile, or --all for every exported one");
  }
  if (const std::string missing = missing_supervisor(); !missing.empty()) {
    return complain(context, ExitCode::Unavailable, missing);
  }
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Unavailable, made.error());
  static_cast<void>(measure::sweep());
  if (files.size() > 1 || options.all || !options.time.empty()) return run_family(options, context, files);

  Verifier verifier(options, context);
  nlohmann::json all = nlohmann::json::array();
  bool refuted = false, unknown = false;
  for (const fs::path& file : files) {
    const Verified each = verifier.verify(file);
    refuted = refuted || each.verification.finding == deploy::Finding::DoesNotHold;
    unknown = unknown || each.verification.finding == deploy::Finding::NotMeasured;
    if (context.json) {
      all.push_back(to_json(each));
    } else {
      *context.out << fmt::format("{} {}: {}\n", file.string(),
                                  coloured(std::string(deploy::to_text(each.verification.finding)),
                                           style_of(each.verification.finding), context.colour_out()),
                                  each.verification.because);
      for (const std::string& difference : each.differences) *context.out << "  " << difference << '\n';
    }
    if (verifier.interrupted()) return verifier.interruption_code();
  }
  if (context.json) print_json(context, "verify", {{"profiles", all}});
  return refuted ? ExitCode::Negative : unknown ? ExitCode::Unavailable : ExitCode::Ok;
}

}  // namespace nocturne::cli
