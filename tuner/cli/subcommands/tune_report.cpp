#include "tuner/cli/subcommands/tune_report.hpp"

#include <filesystem>
#include <ostream>
#include <utility>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/expectation_lines.hpp"
#include "tuner/cli/output/html_report.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/deploy/make_profile.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/proof.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct ProfileReport {
  nlohmann::json json;
  std::string refused{};     ///< why there is none
  bool own_command = false;  ///< it is one of a command of the user's own, which 'apply' then starts
};

/// Writes the profile of the best, so that a night ends with something to deploy.
ProfileReport export_profile(const Context& context, const db::Store& store, const tuner::Answer& answer) {
  if (!answer.best) return {};
  if (const std::string doubt = deploy::missing_proof(answer); !doubt.empty()) return {.json = {}, .refused = doubt};
  const auto profile = deploy::make_profile(
      store, answer,
      deploy::present_circumstances(tuner::workload_of(answer.campaign.spec), context.builds_folder(),
                                    frameworks_here(context, tuner::find_installation()),
                                    containers_here(context, tuner::find_installation())));
  if (!profile) return {.json = {}, .refused = profile.error()};
  const auto written = deploy::write_profile(context.profiles_folder(), *profile);
  if (!written) return {.json = {}, .refused = written.error()};
  return {.json = {{"json", written->json.string()}, {"env", written->env.string()}, {"sh", written->sh.string()}},
          .own_command = deploy::has_own_command(*profile)};
}

void print_profile(const Context& context, const ProfileReport& profile) {
  if (!profile.refused.empty()) *context.out << "No profile was written: " << profile.refused << '\n';
  if (!profile.json.is_object()) return;
  const std::string file = tuner::file_word(profile.json.value("json", ""));
  *context.out << "Profile   " << file << '\n';
  print_command(context, "Run it", "sh " + tuner::file_word(profile.json.value("sh", "")));
  print_command(context, "Apply it", tuner::command_text("apply", profile.own_command ? file : file + " -- COMMAND"));
}

/// Writes the page to look at; empty where that failed, which is said.
std::string export_page(const Context& context, const db::Store& store, HtmlReport report) {
  const std::filesystem::path file = html_file(context, report.answer.campaign);
  const auto written = write_html(context, store, {std::move(report)}, file, false);
  if (written) return file.string();
  *context.err << "No report was written: " << written.error() << '\n';
  return {};
}

}  // namespace

ExitCode database_failed(const Context& context, const db::Error& error, Finish& finish) {
  *context.err << "nocturne tune: " << error.what() << '\n';
  finish.because = error.what();
  // NotFound: the images, for a campaign finds all else.
  const bool lacks = error.code == db::ErrorCode::Owned || error.code == db::ErrorCode::NotFound;
  return lacks ? ExitCode::Unavailable : ExitCode::Database;
}

std::string_view word_of(tuner::Ending ending) {
  switch (ending) {
    case tuner::Ending::Complete:
      return "complete";
    case tuner::Ending::AlreadyDone:
      return "already_done";
    case tuner::Ending::Interrupted:
      return "interrupted";
    case tuner::Ending::OutOfTime:
      return "out_of_time";
    case tuner::Ending::PreflightOnly:
      return "preflight_only";
    case tuner::Ending::MachineChanged:
      break;
  }
  return "machine_changed";
}

ExitCode report_session(const Context& context, const db::Store& store, const tuner::SessionResult& result,
                        const std::string& same_command, Finish& finish) {
  const auto campaign = find_campaign(store, result.campaign);
  if (!campaign) return ExitCode::NotFound;
  const auto answer = tuner::answer_of(store, *campaign);
  const ProfileReport profile = export_profile(context, store, answer);
  finish.know(answer);
  finish.profile = profile.json.is_object() ? profile.json.value("json", "") : "";
  const auto expected = tuner::expectations_of(store, answer);
  finish.report = export_page(context, store, {.answer = answer, .expectations = expected});
  if (context.json) {
    nlohmann::json document = answer_json(answer);
    document["ending"] = result.because;
    add_expectations(document, expected);
    document["profile"] = profile.json;
    document["report"] = text_or_null(finish.report);
    print_json(context, "tune", document);
  } else {
    *context.out << '\n';
    print_answer(context, answer);
    print_expectations(context, expected);
    print_profile(context, profile);
    if (!finish.report.empty()) *context.out << "Report    " << tuner::file_word(finish.report) << '\n';
    const bool is_cut = result.ending == tuner::Ending::Interrupted || result.ending == tuner::Ending::OutOfTime;
    if (is_cut) print_command(context, "Go on", same_command);
  }
  if (result.ending == tuner::Ending::Interrupted) return ExitCode::Interrupted;
  return answer.best ? ExitCode::Ok : ExitCode::Negative;
}

}  // namespace nocturne::cli
