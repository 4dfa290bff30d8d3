// `nocturne request FILE`: answers a job description with the best known configuration and a job script.

#include "tuner/cli/subcommand.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "space/file_contents.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/make_profile.hpp"
#include "tuner/deploy/proof.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/request/choose.hpp"
#include "tuner/request/job_request.hpp"
#include "tuner/request/job_script.hpp"
#include "tuner/request/why.hpp"

namespace nocturne::cli {
namespace {

struct RequestOptions {
  std::string file;
  bool strict = false;
  std::string write;  ///< folder; empty: nothing is written
};

/// Name of the file → path.
using Files = std::map<std::string, std::string>;

struct RequestAnswer {
  tuner::JobRequest request;
  tuner::Choice choice;
  std::optional<deploy::Profile> profile;
  std::string script;
};

tuner::JobRequest requested(const RequestOptions& options, const Context& context) {
  const auto text = space::read_file(options.file);
  if (!text) refuse(context, ExitCode::Usage, fmt::format("the request {} cannot be read", options.file));
  auto request = tuner::read_request(*text, options.file, options.strict);
  if (!request) {
    *context.err << printable(tuner::to_text(request.error())) << '\n';
    throw Refusal{ExitCode::Usage};
  }
  for (const tuner::Problem& warning : request->warnings)
    *context.err << "nocturne: warning: " << printable(tuner::to_text(warning)) << '\n';
  return *std::move(request);
}

/// The chosen configuration as a profile. Throws Refusal where what trained it is gone.
deploy::Profile profile_of_choice(const Context& context, const db::Store& store, const tuner::Fitting& chosen) {
  const tuner::Installation installation = tuner::find_installation();
  const auto circumstances =
      deploy::present_circumstances(tuner::workload_of(chosen.answer.campaign.spec), context.builds_folder(),
                                    frameworks_here(context, installation), containers_here(context, installation));
  auto profile =
      value_or_refuse(context, ExitCode::Unavailable, deploy::make_profile(store, chosen.answer, circumstances));
  profile.forced = deploy::missing_proof(chosen.answer);
  return profile;
}

Files write_answer(const Context& context, const std::string& folder, const RequestAnswer& answer) {
  const std::filesystem::path place = std::filesystem::absolute(folder).lexically_normal();
  const deploy::Profile& profile = *answer.profile;
  struct Part {
    const char* name;
    std::string text;
    bool executable = false;
  };
  const std::array parts = {Part{"job.sh", answer.script, true}, Part{"profile.json", deploy::export_json(profile)},
                            Part{"Dockerfile", deploy::export_dockerfile(profile)},
                            Part{"image.def", deploy::export_apptainer(profile)},
                            Part{"why.md", tuner::why_page(answer.request, answer.choice)}};
  Files files;
  for (const Part& part : parts) {
    value_or_refuse(context, ExitCode::Unavailable, space::write_file(place / part.name, part.text, part.executable));
    files[part.name] = (place / part.name).string();
  }
  return files;
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

nlohmann::json chosen_json(const tuner::Fitting& chosen) {
  return {{"campaign", chosen.answer.campaign.name},
          {"generation", chosen.answer.campaign.generation},
          {"trial", chosen.answer.best->trial.number},
          {"configuration", chosen.answer.best->trial.configuration.to_json()},
          {"framework", chosen.labels.framework},
          {"version", text_or_null(chosen.labels.version)},
          {"graph_compiler", text_or_null(chosen.labels.graph_compiler)},
          {"accelerator", chosen.labels.accelerator},
          {"evidence", tuner::to_text(chosen.evidence)},
          {"epochs", chosen.answer.objective.primary},
          {"seconds", chosen.seconds},
          {"price", text_or_null(chosen.price)}};
}

nlohmann::json answer_document(const RequestOptions& options, const RequestAnswer& answer, const Files& files) {
  return {{"file", options.file},
          {"scheduler", text_or_null(answer.request.scheduler())},
          {"warnings",
           json_list(answer.request.warnings, [](const tuner::Problem& warning) { return tuner::to_text(warning); })},
          {"chosen", answer.choice.chosen ? chosen_json(*answer.choice.chosen) : nlohmann::json()},
          {"others", json_list(answer.choice.others,
                               [](const tuner::NotChosen& other) {
                                 return nlohmann::json{{"campaign", other.campaign}, {"reason", other.reason}};
                               })},
          {"job_script", text_or_null(answer.script)},
          {"files", files}};
}

void print_page(const Context& context, const RequestAnswer& answer, const Files& files) {
  for (const std::string& line : tuner::why_lines(answer.request, *answer.choice.chosen))
    *context.out << printable(line) << '\n';
  if (!answer.choice.others.empty()) {
    *context.out << '\n';
    Table table({{"not chosen"}, {"because", Align::Left, Fit::Wraps}});
    for (const auto& [campaign, reason] : answer.choice.others) table.add({Cell(campaign), Cell(reason)});
    table.print(context);
  }
  for (const auto& [name, path] : files) context.verbatim() << path << '\n';
  if (files.empty()) *context.err << "Nothing was written: --write DIR writes the job script, --json prints it.\n";
}

void setup(CLI::App& subcommand, RequestOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "The request, JSON")->required();
  subcommand.add_flag("--strict", options.strict, "Refuse unknown keys; else they are warnings");
  add_value(subcommand, "--write", options.write, "DIR",
            "Write job.sh, profile.json, Dockerfile, image.def and why.md into this folder");
  subcommand.footer(
      "A request names a framework, its version, a graph compiler, an accelerator, a workload (app_tag: a network, "
      "data "
      "set or campaign; or the executable of a command that was tuned), and what a batch system is asked for. The "
      "answer is the best measured configuration that has what is demanded: pairs on this machine count more than "
      "single trials, and these more than another machine's. What the request leaves open comes from what was "
      "measured: "
      "threads, memory, time, GPU. Nothing is advised that was not measured. 'nocturne schema request' prints the "
      "language; spellings of its earlier generations are read, too.\n\n"
      "Examples:\n"
      "  nocturne request job.json\n"
      "  nocturne request job.json --write deployment\n"
      "  nocturne request job.json --json | jq -r .job_script | sbatch\n");
}

/// NotFound where nothing measured has what is demanded.
ExitCode run(const RequestOptions& options, Context& context) {
  RequestAnswer answer{.request = requested(options, context), .choice = {}, .profile = {}, .script = {}};
  const db::Store store = open_database(context);
  const measure::MachineRoots roots{.onednn_prefix = tuner::find_installation().onednn_prefix};
  answer.choice =
      tuner::choose(store, tuner::demands_of(answer.request), measure::fingerprint_of(measure::probe_machine(roots)));
  Files files;
  if (answer.choice.chosen) {
    answer.profile = profile_of_choice(context, store, *answer.choice.chosen);
    answer.script = tuner::job_script(answer.request, *answer.profile);
    if (!options.write.empty()) files = write_answer(context, options.write, answer);
  }
  if (context.json) print_json(context, "request-answer", answer_document(options, answer, files));
  if (answer.choice.chosen) {
    if (!context.json) print_page(context, answer, files);
    return ExitCode::Ok;
  }
  std::string sentence = "nothing that was measured here has what the request demands";
  for (const auto& [campaign, reason] : answer.choice.others) sentence += fmt::format("\n  {}: {}", campaign, reason);
  return complain(context, ExitCode::NotFound,
                  fmt::format("{}\nMeasure it first: '{}' with those values of framework and graph_compiler", sentence,
                              tuner::command_text({"tune", "FILE"})));
}

}  // namespace

SubcommandAction add_request(CLI::App& subcommand) {
  return add_options<RequestOptions>(subcommand);
}

}  // namespace nocturne::cli
