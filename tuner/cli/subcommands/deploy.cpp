// `nocturne deploy PROFILE --runtime RUNTIME`: moves a profile into a container and measures what that costs.

#include "tuner/cli/subcommand.hpp"

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/comparison/planned_looks.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/deploy/make_profile.hpp"
#include "tuner/deploy/profile_member.hpp"
#include "tuner/deploy/relocation.hpp"
#include "tuner/deploy/verification.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::cli {
namespace {

struct DeployOptions {
  std::string profile;
  std::string runtime;
  std::string image = "debian-12";
  measure::ComparisonPolicy policy;
};

/// Both sides prepared (the image is made where it is missing) and measured once. Throws Refusal.
std::unique_ptr<deploy::ProfileMember> prepare(MeasurementContext& measuring, const deploy::Profile& moved,
                                               const DeployOptions& options) {
  const Context& context = measuring.context();
  const auto document =
      value_or_refuse(context, ExitCode::Unavailable, deploy::verification_campaign(moved, options.policy));
  auto spec = value_or_refuse(context, ExitCode::Unavailable, measuring.parse(document, "the profile"));
  auto member = deploy::ProfileMember::open(
      std::move(spec),
      {.make_executor = [&](const tuner::CampaignSpec& campaign) { return measuring.make_executor(campaign); },
       .make_session = [&](const tuner::CampaignSpec& campaign,
                           tuner::Executor& executor) { return measuring.make_session(campaign, executor); }},
      moved.configuration);
  measuring.display().clear();
  if (!member && measuring.interrupted()) throw Refusal{measuring.interruption_code()};
  return value_or_refuse(context, ExitCode::Unavailable, std::move(member));
}

/// What the container costs. Throws Refusal where the pairs do not say.
measure::Comparison cost_of(MeasurementContext& measuring, deploy::ProfileMember& member,
                            const DeployOptions& options) {
  auto driver = tuner::PairDriver::open({&member.comparing()}, options.policy);
  const tuner::PairsEnd end = driver.run();
  driver.stop();
  measuring.display().clear();
  if (end == tuner::PairsEnd::Interrupted) throw Refusal{measuring.interruption_code()};
  const auto& said = driver.comparison().members().front().comparison;
  if (!said) refuse(measuring.context(), ExitCode::Unavailable, "pair after pair failed: there is no figure");
  return *said;
}

void print_deployed(const Context& context, const deploy::Profile& moved, const deploy::WrittenProfile& files) {
  const deploy::Gain& gain = *moved.gain;
  const deploy::ProfileContainer& container = *moved.container;
  if (context.json) {
    print_json(context, "deploy",
               {{"runtime", container.runtime},
                {"runtime_version", container.version},
                {"image", container.image},
                {"digest", container.digest},
                {"verdict", gain.verdict},
                {"gain_percent", gain.gain_percent},
                {"low_percent", gain.low_percent},
                {"high_percent", gain.high_percent},
                {"pairs", gain.pairs},
                {"files", {{"json", files.json.string()}, {"env", files.env.string()}, {"sh", files.sh.string()}}}});
    return;
  }
  *context.out << fmt::format(
      "In {} {}, image {} ({}), against the host: {} ({:+.1f} %, {:+.1f} to {:+.1f} %, {} "
      "pairs)\n",
      container.runtime, container.version, container.image, container.digest, gain.verdict, gain.gain_percent,
      gain.low_percent, gain.high_percent, gain.pairs);
  for (const auto& file : {files.json, files.env, files.sh}) context.verbatim() << file.string() << '\n';
}

void setup(CLI::App& subcommand, DeployOptions& options) {
  add_value(subcommand, "profile", options.profile, "PROFILE",
            "A profile's JSON file, or the name of a campaign that was exported")
      ->required();
  add_value(subcommand, "--runtime", options.runtime, "RUNTIME", "charliecloud, apptainer, podman or docker")
      ->required();
  add_value(subcommand, "--image", options.image, "NAME", "An image's recipe (default: debian-12)");
  add_pair_options(subcommand, options.policy);
  subcommand.footer(
      "Makes the image where it is missing, trains the profile's configuration in it and on the host, in pairs that "
      "are alive together, and writes a profile of its own (CAMPAIGN-RUNTIME) with the image's digest and the verdict. "
      "'apply' and the exported script start that container. The evidence is kept in verifications.db of the data "
      "folder.\n\n"
      "Examples:\n"
      "  nocturne deploy mnist --runtime podman\n"
      "  nocturne deploy mnist --runtime charliecloud --image debian-13 --pairs 12\n");
}

/// Ok where there is a verdict, whichever it is.
ExitCode run(const DeployOptions& options, Context& context) {
  const deploy::Profile profile = open_profile(options.profile, context);
  deploy::Profile moved =
      value_or_refuse(context, ExitCode::Usage, deploy::moved_into(profile, options.runtime, options.image));
  MeasurementContext measuring(context);
  measuring.begin(verifications_database(context));
  const auto member = prepare(measuring, moved, options);
  deploy::keep_cost(moved, profile, cost_of(measuring, *member, options));
  const auto circumstances = deploy::present_circumstances(moved.workload, context.builds_folder(),
                                                           frameworks_here(context, measuring.installation()),
                                                           containers_here(context, measuring.installation()));
  value_or_refuse(context, ExitCode::Unavailable, deploy::put_into_container(moved, circumstances));
  print_deployed(
      context, moved,
      value_or_refuse(context, ExitCode::Unavailable, deploy::write_profile(context.profiles_folder(), moved)));
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_deploy(CLI::App& subcommand) {
  return add_options<DeployOptions>(subcommand);
}

}  // namespace nocturne::cli
