// `nocturne env export --bundle` and `install --bundle`.

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/bundles.hpp"
#include "tuner/cli/subcommands/env_actions.hpp"
#include "tuner/deploy/bundle.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

nlohmann::json bundle_json(const deploy::Bundle& bundle) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(bundle.file, error);
  return {{"file", bundle.file.string()},        {"id", bundle.id},       {"bytes", error ? 0 : bytes},
          {"environments", bundle.environments}, {"build", bundle.build}, {"profile", bundle.profile.string()},
          {"warnings", bundle.warnings}};
}

void print_warnings(const Context& context, const deploy::Bundle& bundle) {
  for (const std::string& warning : bundle.warnings) {
    *context.err << "nocturne env: warning: " << one_line(warning) << '\n';
  }
}

}  // namespace

ExitCode say_making_failure(const Context& context, const deploy::MakingFailure& failure, const SignalWatch& signals,
                            ExitCode failed) {
  if (failure.interrupted) {
    *context.err << "interrupted; the same command begins again\n";
    return signals.interruption_code();
  }
  const ExitCode code = complain(context, failed, failure.reason);
  if (!failure.log_tail.empty() && !context.json) *context.err << failure.log_tail << '\n' << std::flush;
  return code;
}

deploy::BundlePlaces bundle_places(const Context& context, const tuner::Frameworks& frameworks,
                                   std::function<void(std::string_view)> progress) {
  return {.frameworks = frameworks,
          .installation = tuner::find_installation(),
          .builds_folder = context.builds_folder(),
          .profiles_folder = context.profiles_folder(),
          .recipes_folder = context.recipes_folder(),
          .temporary = context.data_folder() / "bundles",
          .progress = std::move(progress)};
}

ExitCode pack_environments(const EnvOrder& order, Context& context) {
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Unavailable, made.error());
  std::optional<deploy::Profile> profile;
  if (!order.options.profile.empty()) {
    auto loaded = open_profile(order.options.profile, context);
    if (!loaded) return loaded.error();
    profile = std::move(*loaded);
  }
  std::vector<std::string> names;
  for (const measure::EnvironmentRecipe* recipe : order.recipes) names.push_back(recipe->name);
  InstallDisplay display(context);
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  const auto packed = deploy::pack_bundle(
      names, profile, std::filesystem::absolute(order.options.bundle).lexically_normal(),
      bundle_places(context, *order.frameworks, [&display](std::string_view line) { display.step(line); }),
      interruption.waiting_token());
  display.clear();
  if (!packed) return say_making_failure(context, packed.error(), signals, ExitCode::Negative);
  const nlohmann::json document = bundle_json(*packed);
  print_warnings(context, *packed);
  if (context.json) {
    print_json(context, "env-bundle", document);
  } else {
    *context.out << fmt::format("{}: {}\n", packed->file.string(),
                                bytes_text(document.at("bytes").get<std::int64_t>()));
  }
  return ExitCode::Ok;
}

ExitCode install_bundle(const EnvOrder& order, Context& context) {
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Unavailable, made.error());
  InstallDisplay display(context);
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  const auto opened = deploy::open_bundle(
      std::filesystem::absolute(order.options.bundle),
      bundle_places(context, *order.frameworks, [&display](std::string_view line) { display.step(line); }),
      interruption.waiting_token());
  display.clear();
  if (!opened) return say_making_failure(context, opened.error(), signals, ExitCode::Negative);
  print_warnings(context, *opened);
  if (context.json) {
    print_json(context, "env-bundle", bundle_json(*opened));
    return ExitCode::Ok;
  }
  for (const std::string& name : opened->environments) *context.out << name << ": is installed\n";
  if (!opened->build.empty()) *context.out << fmt::format("build {}: is there\n", opened->build.substr(0, 12));
  if (!opened->profile.empty()) {
    const std::string name = opened->profile.stem().string();
    *context.out << fmt::format("profile {}: {}\n", name, tuner::command_text({"apply", name}));
  }
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
