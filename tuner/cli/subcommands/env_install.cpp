// `nocturne env install` and `update`.

#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/env_actions.hpp"
#include "tuner/executor/interruption.hpp"

namespace nocturne::cli {
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

ExitCode make_environments(const EnvOrder& order, Context& context, bool anew) {
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Unavailable, made.error());
  std::string error;
  measure::EnvironmentStore* store = order.frameworks->store(error);
  if (store == nullptr) return complain(context, ExitCode::Unavailable, error);
  InstallDisplay display(context);
  measure::InstallOptions install = order.frameworks->install_options();
  install.progress = [&display](std::string_view line) { display.step(line); };
  if (!order.options.lock.empty()) {
    const auto lock = read_lock_file(order.options.lock);
    if (!lock) return complain(context, ExitCode::Usage, lock.error());
    install.lock = lock->packages;
  }
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

}  // namespace nocturne::cli
