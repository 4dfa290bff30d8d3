// `nocturne env install` and `update`; `export --bundle` and `install --bundle`.

#include "tuner/cli/subcommands/env.hpp"

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/bundles.hpp"
#include "tuner/deploy/bundle.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

/// A line for each step of an installation; on a terminal the last one is rewritten.
class InstallDisplay {
 public:
  explicit InstallDisplay(const Context& context) : context_(context) {}
  void step(std::string_view line);
  void clear();

 private:
  const Context& context_;
  bool shown_ = false;
};

void InstallDisplay::step(std::string_view line) {
  clear();
  const std::string text = fmt::format("installing {}", one_line(std::string(line)));
  if (context_.err_is_terminal) {
    *context_.err << shortened(text, context_.columns > 1 ? context_.columns - 1 : 79) << std::flush;
    shown_ = true;
  } else {
    *context_.err << text << '\n' << std::flush;
  }
}

void InstallDisplay::clear() {
  if (shown_) *context_.err << "\r\x1b[K" << std::flush;
  shown_ = false;
}

nlohmann::json bundle_json(const deploy::Bundle& bundle) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(bundle.file, error);
  return {{"file", bundle.file.string()},        {"id", bundle.id},       {"bytes", error ? 0 : bytes},
          {"environments", bundle.environments}, {"build", bundle.build}, {"profile", bundle.profile.string()},
          {"warnings", bundle.warnings}};
}

void print_warnings(const Context& context, const deploy::Bundle& bundle) {
  for (const std::string& warning : bundle.warnings)
    *context.err << "nocturne env: warning: " << one_line(warning) << '\n';
}

}  // namespace

ExitCode make_environments(const EnvOrder& order, Context& context, bool anew) {
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
  std::string error;
  measure::EnvironmentStore* store = order.frameworks->store(error);
  if (store == nullptr) return complain(context, ExitCode::Unavailable, error);
  InstallDisplay display(context);
  measure::InstallOptions install = order.frameworks->install_options();
  install.progress = [&display](std::string_view line) { display.step(line); };
  if (!order.options.lock.empty())
    install.lock = value_or_refuse(context, ExitCode::Usage, read_lock_file(order.options.lock)).packages;
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  nlohmann::json document = nlohmann::json::array();
  std::size_t failed = 0, unavailable = 0;
  for (const measure::EnvironmentRecipe* recipe : order.recipes) {
    const auto stop = interruption.waiting_token();
    const auto made = anew ? store->update(*recipe, order.frameworks->pythons(), install, stop)
                           : store->obtain(*recipe, order.frameworks->pythons(), install, stop);
    display.clear();
    if (made) {
      document.push_back({{"name", recipe->name},
                          {"installed_now", made->installed_now},
                          {"seconds", std::chrono::duration<double>(made->install_time).count()},
                          {"python", measure::to_text(made->interpreter.version)},
                          {"bytes", made->bytes},
                          {"folder", made->folder.string()},
                          {"packages", made->lock}});
      if (context.json) continue;
      *context.out << fmt::format("{}: {}{}, Python {}\n", recipe->name,
                                  made->installed_now ? "installed in " + nanoseconds_text(made->install_time) + ", "
                                                      : std::string("is installed, "),
                                  bytes_text(static_cast<std::int64_t>(made->bytes)),
                                  measure::to_text(made->interpreter.version))
                   << std::flush;
      continue;
    }
    const measure::EnvironmentFailure& failure = made.error();
    document.push_back({{"name", recipe->name}, {"reason", failure.reason}, {"unavailable", failure.unavailable}});
    if (failure.interrupted) {
      if (context.json) print_json(context, "env-install", {{"environments", document}});
      *context.err << fmt::format("{}: interrupted; the same command goes on with what is downloaded\n", recipe->name);
      return signals.interruption_code();
    }
    ++failed;
    if (failure.unavailable) ++unavailable;
    const std::string named = failure.reason.starts_with(recipe->name) ? "" : recipe->name + ": ";
    *context.err << named << failure.reason << '\n' << std::flush;
    if (!failure.log_tail.empty() && !context.json) *context.err << failure.log_tail << '\n' << std::flush;
  }
  if (context.json) print_json(context, "env-install", {{"environments", document}});
  if (failed == 0) return ExitCode::Ok;
  return failed == unavailable ? ExitCode::Unavailable : ExitCode::Negative;
}

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

namespace {

/// What `make` packs or opens. Throws Refusal.
template <typename Make>
deploy::Bundle bundle_of(const EnvOrder& order, const Context& context, const Make& make) {
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
  InstallDisplay display(context);
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  const auto places =
      bundle_places(context, *order.frameworks, [&display](std::string_view line) { display.step(line); });
  auto bundle = make(places, interruption.waiting_token());
  display.clear();
  if (!bundle) throw Refusal{say_making_failure(context, bundle.error(), signals, ExitCode::Negative)};
  print_warnings(context, *bundle);
  return *std::move(bundle);
}

}  // namespace

ExitCode pack_environments(const EnvOrder& order, Context& context) {
  std::optional<deploy::Profile> profile;
  if (!order.options.profile.empty()) profile = open_profile(order.options.profile, context);
  std::vector<std::string> names;
  for (const measure::EnvironmentRecipe* recipe : order.recipes) names.push_back(recipe->name);
  const auto file = std::filesystem::absolute(order.options.bundle).lexically_normal();
  const auto packed = bundle_of(order, context, [&](const deploy::BundlePlaces& places, const std::stop_token& stop) {
    return deploy::pack_bundle(names, profile, file, places, stop);
  });
  const nlohmann::json document = bundle_json(packed);
  if (context.json)
    print_json(context, "env-bundle", document);
  else
    *context.out << fmt::format("{}: {}\n", packed.file.string(), bytes_text(document.at("bytes").get<std::int64_t>()));
  return ExitCode::Ok;
}

ExitCode install_bundle(const EnvOrder& order, Context& context) {
  const auto opened = bundle_of(order, context, [&](const deploy::BundlePlaces& places, const std::stop_token& stop) {
    return deploy::open_bundle(std::filesystem::absolute(order.options.bundle), places, stop);
  });
  if (context.json) {
    print_json(context, "env-bundle", bundle_json(opened));
    return ExitCode::Ok;
  }
  for (const std::string& name : opened.environments) *context.out << name << ": is installed\n";
  if (!opened.build.empty()) *context.out << fmt::format("build {}: is there\n", opened.build.substr(0, 12));
  if (!opened.profile.empty()) {
    const std::string name = opened.profile.stem().string();
    *context.out << fmt::format("profile {}: {}\n", name, tuner::command_text({"apply", name}));
  }
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
