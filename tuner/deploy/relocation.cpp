#include "tuner/deploy/relocation.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "measure/container/container.hpp"
#include "space/nearest.hpp"
#include "tuner/deploy/own_command.hpp"

namespace nocturne::deploy {

std::expected<Profile, std::string> moved_into(const Profile& profile, const std::string& runtime,
                                               const std::string& image) {
  if (const std::string container = container_of(profile); !container.empty())
    return std::unexpected(fmt::format("it was measured in the container {} already", container));
  if (has_own_command(profile))
    return std::unexpected("it is a command of your own, and what that needs beside its folder is not known here");
  if (measure::find_container_runtime(runtime) == nullptr) {
    std::vector<std::string> names;
    for (const measure::ContainerRuntime* each : measure::container_runtimes()) names.emplace_back(each->name());
    return std::unexpected(
        fmt::format("no container runtime is called '{}'{}", runtime, space::did_you_mean(runtime, names)));
  }
  Profile moved = profile;
  moved.campaign += "-" + runtime;
  moved.configuration.set("container", runtime);
  moved.configuration.set("image", image);
  Gain against_host{.verdict = "undecided", .epochs = profile.epochs};
  against_host.baseline = profile.configuration;
  against_host.baseline.set("container", std::string("host"));
  moved.gain = against_host;
  moved.of_default = {profile};
  moved.of_default.front().of_default.clear();
  return moved;
}

void keep_cost(Profile& moved, const Profile& on_host, const measure::Comparison& cost) {
  moved.gain->verdict = measure::to_text(cost.verdict);
  moved.gain->gain_percent = cost.gain_percent;
  moved.gain->low_percent = cost.low_percent;
  moved.gain->high_percent = cost.high_percent;
  moved.gain->pairs = cost.pairs;
  const double factor = std::exp(-cost.log_ratio);
  if (moved.step) moved.step->seconds *= factor;
  if (on_host.estimate) {
    const double value = on_host.estimate->value * factor;
    moved.estimate->value = value;
    moved.estimate->standard_error = std::hypot(on_host.estimate->standard_error * factor, value * cost.standard_error);
  }
  moved.forced = "it was moved into a container, and compared with itself on the host";
  if (on_host.gain) moved.forced += "; there it " + gain_text(*on_host.gain);
}

}  // namespace nocturne::deploy
