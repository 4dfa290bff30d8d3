// `nocturne request FILE`: answers a job description with a job script.

#include "tuner/cli/subcommand.hpp"

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
#include "space/write_file.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/registered.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/cli.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/make_profile.hpp"
#include "tuner/deploy/proof.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/own_workers.hpp"
#include "tuner/request/build_script.hpp"
#include "tuner/request/choose.hpp"
#include "tuner/request/deployment.hpp"
#include "tuner/request/job_request.hpp"
#include "tuner/request/job_script.hpp"
#include "tuner/request/open_campaign.hpp"
#include "tuner/request/why.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;

struct RequestOptions {
  std::string file;
  bool strict = false;
  std::string write;  ///< folder; empty: nothing is written
  bool tune = false;
  std::optional<std::int64_t> trials;  ///< these three are the budget
  std::string wall, until;
  [[nodiscard]] bool has_budget() const { return trials || !wall.empty() || !until.empty(); }
};

/// Name of the file → path.
using Files = std::map<std::string, std::string>;

struct RequestAnswer {
  tuner::JobRequest request;
  tuner::Choice choice{};
  std::optional<tuner::Deployment> deployment{};  ///< empty: nothing answers, or the job tunes first
  std::optional<tuner::OpenCampaign> campaign{};  ///< what is left open, where that is asked for
  std::string job_script{}, build_script{};
};

tuner::JobRequest requested(const RequestOptions& options, const Context& context, const tuner::Registry& registry) {
  const std::string text = text_or_refuse(context, options.file, "the request ");
  auto request = value_or_refuse(context, tuner::read_request(text, options.file, options.strict, registry));
  for (const tuner::Problem& warning : request.warnings)
    *context.err << "nocturne: warning: " << printable(tuner::to_text(warning)) << '\n';
  return request;
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

/// Measures what is open, as `tune` does; its page goes where progress goes. Throws Refusal where that did not end
/// well.
void tune_now(const RequestOptions& options, const Context& context, const tuner::OpenCampaign& campaign) {
  std::vector<std::string> words = {"tune", "--data", context.data_folder().string(), "--db",
                                    context.database().string()};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--trials", options.trials ? std::to_string(*options.trials) : "");
  add("--wall", options.wall);
  add("--until", options.until);
  if (campaign.command.empty()) {
    const std::filesystem::path file = context.data_folder() / "requests" / (campaign.name + ".json");
    value_or_refuse(context, ExitCode::Unavailable, space::write_file(file, campaign.document.dump(2) + "\n"));
    words.push_back(file.string());
  } else {
    words.insert(words.end(), {"--name", campaign.name, "--"});
    words.insert(words.end(), campaign.command.begin(), campaign.command.end());
  }
  Context inner = context;
  inner.out = context.err;
  inner.json = false;
  const ExitCode code = run_command_line(words, inner);
  tuner::set_invocation(std::vector{context.program});
  if (code != ExitCode::Ok) throw Refusal{code};
}

tuner::OpenFrameworks open_frameworks(const tuner::Candidates& candidates, const tuner::Frameworks& frameworks) {
  std::vector<std::string> own;
  for (const tuner::WorkerRecipe& worker : tuner::worker_recipes())
    if (frameworks.obstacle(worker.name).empty()) own.emplace_back(worker.name);
  return {.offers = candidates.offers, .own = std::move(own), .obstacle = candidates.obstacle};
}

/// What answers, as a job. Throws Refusal.
void deploy_choice(const Context& context, const std::optional<db::Store>& store, const tuner::Registry& registry,
                   RequestAnswer& answer) {
  const tuner::Choice& choice = answer.choice;
  if (!choice.chosen && !choice.offer && !tuner::says_what_runs(answer.request)) return;
  const tuner::Demands demands = tuner::demands_of(answer.request);
  std::optional<deploy::Profile> profile;
  if (choice.chosen) profile = profile_of_choice(context, *store, *choice.chosen);
  auto deployment =
      value_or_refuse(context, ExitCode::Usage,
                      tuner::deployment_of(answer.request, choice, std::move(profile), registry,
                                           store ? tuner::scaling_of_runs(*store, demands) : std::nullopt));
  // What is missing does not run, unless the request brings a container of its own.
  if (choice.offer && !choice.offer->missing.empty() && deployment.container.empty()) return;
  answer.deployment = std::move(deployment);
  answer.job_script = tuner::job_script(*answer.deployment);
  answer.build_script = tuner::build_script(*answer.deployment);
}

RequestAnswer answer_of_request(const RequestOptions& options, Context& context) {
  const tuner::Registry registry = registry_here(context);
  RequestAnswer answer{.request = requested(options, context, registry)};
  const tuner::Installation installation = tuner::find_installation();
  const auto frameworks = frameworks_here(context, installation);
  tuner::Candidates candidates{.offers = tuner::offers_of(registry, *frameworks, image_recipes_here(context)),
                               .here = measure::fingerprint_of(measure::probe_machine(installation.machine_roots())),
                               .obstacle = [&](const std::string& name) { return frameworks->obstacle(name); }};
  tuner::Demands demands = tuner::demands_of(answer.request);
  const bool tunes = options.tune || answer.request.optimisation.value("enable_autotuning", false);
  if (tunes || !options.write.empty()) {
    auto open = tuner::open_campaign_of(answer.request, open_frameworks(candidates, *frameworks));
    if (open || tunes) answer.campaign = value_or_refuse(context, ExitCode::Usage, std::move(open));
  }
  if (tunes && !options.has_budget()) {
    answer.job_script = tuner::tuning_script(answer.request);
    return answer;
  }
  if (tunes) {
    tune_now(options, context, *answer.campaign);
    demands.workload = answer.campaign->name;  // the script is the winner's
    demands.words.clear();
  }
  const std::optional<db::Store> store = open_known_database(context);
  candidates.store = store ? &*store : nullptr;
  answer.choice = tuner::choose(candidates, demands);
  deploy_choice(context, store, registry, answer);
  return answer;
}

Files write_answer(const Context& context, const std::string& folder, const RequestAnswer& answer) {
  const std::filesystem::path place = std::filesystem::absolute(folder).lexically_normal();
  Files files;
  const auto write = [&](const char* name, const std::string& text, bool executable = false) {
    if (text.empty()) return;
    value_or_refuse(context, ExitCode::Unavailable, space::write_file(place / name, text, executable));
    files[name] = (place / name).string();
  };
  write("job.sh", answer.job_script, true);
  write("build.sh", answer.build_script, true);
  if (answer.campaign && answer.campaign->command.empty())
    write("campaign.json", answer.campaign->document.dump(2) + "\n");
  if (!answer.deployment) return files;
  if (const auto& profile = answer.deployment->profile) {
    write("profile.json", deploy::export_json(*profile));
    write("Dockerfile", deploy::export_dockerfile(*profile));
    write("image.def", deploy::export_apptainer(*profile));
  }
  write("image.def", tuner::definition_file(*answer.deployment));
  write("why.md", tuner::why_page(*answer.deployment, answer.choice));
  return files;
}

json chosen_json(const tuner::Fitting& chosen) {
  return {{"campaign", chosen.answer.campaign.name},
          {"generation", chosen.answer.campaign.generation},
          {"trial", chosen.answer.best->trial.number},
          {"configuration", chosen.answer.best->trial.configuration.to_json()},
          {"labels", tuner::to_json(chosen.labels)},
          {"epochs", chosen.answer.objective.primary},
          {"seconds", chosen.seconds},
          {"unproven", text_or_null(chosen.unproven)},
          {"price", text_or_null(chosen.price)}};
}

json offer_json(const tuner::Offer& offer) {
  return {{"kind", offer.kind == tuner::Offer::Kind::Image ? "image" : "environment"},
          {"name", offer.name},
          {"labels", tuner::to_json(offer.labels)},
          {"missing", text_or_null(offer.missing)}};
}

/// The image that the job runs in; of what was measured its name, by which the profile knows the digest.
std::string container_of_answer(const RequestAnswer& answer) {
  if (!answer.deployment) return {};
  const auto& profile = answer.deployment->profile;
  return profile ? (profile->container ? profile->container->image : "") : answer.deployment->container;
}

/// The request with what answers it filled in, where a caller of the old service looks for it.
json job_of_answer(const RequestAnswer& answer) {
  json job = {{"job_options", answer.request.job_options},     {"target", answer.request.target},
              {"application", answer.request.application},     {"optimisation", answer.request.optimisation},
              {"job_script", text_or_null(answer.job_script)}, {"build_script", text_or_null(answer.build_script)}};
  if (const std::string container = container_of_answer(answer); !container.empty())
    job["application"]["container_runtime"] = container;
  return job;
}

json answer_document(const RequestOptions& options, const RequestAnswer& answer, const Files& files) {
  const tuner::Choice& choice = answer.choice;
  const auto evidence = choice.chosen ? choice.chosen->evidence : tuner::Evidence::None;
  return {{"file", options.file},
          {"scheduler", text_or_null(answer.request.scheduler())},
          {"infrastructure", answer.request.infrastructure ? json(answer.request.infrastructure->name) : json()},
          {"warnings",
           json_list(answer.request.warnings, [](const tuner::Problem& warning) { return tuner::to_text(warning); })},
          {"notes", answer.deployment ? json(answer.deployment->notes) : json::array()},
          {"evidence", tuner::to_text(evidence)},
          {"chosen", choice.chosen ? chosen_json(*choice.chosen) : json()},
          {"offer", choice.offer ? offer_json(*choice.offer) : json()},
          {"others",
           json_list(choice.others,
                     [](const tuner::NotChosen& other) {
                       return json{
                           {"kind", other.kind}, {"name", other.name}, {"fits", other.fits}, {"reason", other.reason}};
                     })},
          {"campaign", answer.campaign ? answer.campaign->document : json()},
          {"container_runtime", text_or_null(container_of_answer(answer))},
          {"job_script", text_or_null(answer.job_script)},
          {"build_script", text_or_null(answer.build_script)},
          {"job", job_of_answer(answer)},
          {"files", files}};
}

/// Campaigns, and whatever is of what is asked for: the other reasons are for those who ask.
bool is_told(const tuner::NotChosen& other) {
  return other.kind == "campaign" || other.fits || other.near;
}

void print_others(const Context& context, const std::vector<tuner::NotChosen>& others) {
  Table table({{"not chosen"}, {"because", Align::Left, Fit::Wraps}});
  std::size_t more = 0;
  for (const tuner::NotChosen& other : others)
    if (is_told(other))
      table.add({Cell(other.name), Cell(other.reason)});
    else
      ++more;
  if (!table.empty()) {
    *context.out << '\n';
    table.print(context);
  }
  if (more > 0)
    *context.out << fmt::format("\n{} images and environments are of something else: why.md and --json list them.\n",
                                more);
}

void print_page(const Context& context, const RequestAnswer& answer, const Files& files) {
  if (answer.deployment) {
    for (const std::string& line : tuner::why_lines(*answer.deployment, answer.choice))
      *context.out << printable(line) << '\n';
    print_others(context, answer.choice.others);
  } else {
    *context.out << fmt::format(
        "The job tunes first: {} of what the request leaves open, then it trains with the winner. --wall, --trials or "
        "--until tunes now.\n",
        tuner::tuning_time(answer.request));
  }
  for (const auto& [name, path] : files) context.verbatim() << path << '\n';
  if (files.empty()) *context.err << "Nothing was written: --write DIR writes the job script, --json prints it.\n";
}

ExitCode refuse_request(const Context& context, const RequestAnswer& answer) {
  const tuner::Choice& choice = answer.choice;
  if (choice.offer)
    return complain(context, ExitCode::Unavailable,
                    fmt::format("{} has what the request demands, but {}.\n{}", tuner::title_of(*choice.offer),
                                choice.offer->missing, choice.offer->plug_in));
  std::string sentence = "nothing that was measured or is registered here has what the request demands";
  for (const tuner::NotChosen& other : choice.others)
    if (is_told(other)) sentence += fmt::format("\n  {}: {}", other.name, other.reason);
  return complain(context, ExitCode::NotFound,
                  fmt::format("{}\nMeasure it: '{}' with what is demanded; --json has the reason of each image",
                              sentence, tuner::command_text({"tune", "FILE"})));
}

void setup(CLI::App& subcommand, RequestOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "The request, JSON")->required();
  subcommand.add_flag("--strict", options.strict, "Refuse unknown keys; else they are warnings");
  add_value(subcommand, "--write", options.write, "DIR",
            "Write job.sh, why.md and what belongs to them (build.sh, image.def, Dockerfile, profile.json, "
            "campaign.json) into this folder");
  subcommand.add_flag("--tune", options.tune,
                      "Measure what the request leaves open, as its enable_autotuning does: now, if one of the next "
                      "three says how long; else the job script tunes first and trains then");
  add_value(subcommand, "--wall", options.wall, "DURATION", "With --tune: time for it: 5min, 8h", time_span());
  add_value(subcommand, "--trials", options.trials, "N", "With --tune: stop after this many trials", whole_number(1));
  add_value(subcommand, "--until", options.until, "HH:MM", "With --tune: have the answer ready at this time of day",
            time_of_day());
  subcommand.footer(
      "A request names a framework, its version, a graph compiler, an accelerator, a workload (app_tag: a network, "
      "data set, campaign or application; or the executable of a command that was tuned), a target, and what a batch "
      "system is asked for. Whatever lacks what is demanded is left out. Of the rest the best known answers: pairs on "
      "this machine count more than single trials, these more than another machine's, and where nothing was measured "
      "an environment that is installed, an image of the registry or a recipe answers, and no speed is claimed. What "
      "the request leaves open comes from what was measured: threads, memory, time, GPU. 'nocturne list "
      "infrastructures', 'fragments' and 'images' show what is registered, 'nocturne schema request' prints the "
      "language; spellings of its earlier generations are read, too.\n\n"
      "Examples:\n"
      "  nocturne request job.json\n"
      "  nocturne request job.json --write deployment\n"
      "  nocturne request job.json --tune --wall 15min --write deployment\n"
      "  nocturne request job.json --json | jq -r .job_script | sbatch\n");
}

/// NotFound where nothing has what is demanded, Unavailable where it does not exist yet.
ExitCode run(const RequestOptions& options, Context& context) {
  const RequestAnswer answer = answer_of_request(options, context);
  const bool answered = !answer.job_script.empty();
  Files files;
  if (answered && !options.write.empty()) files = write_answer(context, options.write, answer);
  if (context.json) print_json(context, "request-answer", answer_document(options, answer, files));
  if (!answered) return refuse_request(context, answer);
  if (!context.json) print_page(context, answer, files);
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_request(CLI::App& subcommand) {
  return add_options<RequestOptions>(subcommand);
}

}  // namespace nocturne::cli
