#include "tuner/deploy/job_resources.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "search/model/student.hpp"
#include "tuner/campaign_file/quantity.hpp"
#include "tuner/deploy/exporter.hpp"

namespace nocturne::deploy {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kLeastMarginMib = 256;
constexpr double kLongestMinutes = 366.0 * 24 * 60;

std::int64_t threads_of(const Profile& profile) {
  const std::int64_t threads = profile.configuration.integer_of("threads").value_or(0);
  return threads > 0 ? threads : static_cast<std::int64_t>(profile.launch.cpus.size());
}

std::optional<std::chrono::minutes> wall_of(const Profile& profile) {
  if (!profile.estimate) return std::nullopt;
  const space::Estimate& estimate = *profile.estimate;
  const double seconds =
      estimate.runs > 1
          ? estimate.value + search::model::student_quantile(estimate.runs - 1, 0.975) * estimate.standard_error
          : estimate.value * 1.5;
  const double minutes = std::ceil(seconds / 60) + 1;
  if (!(minutes >= 1 && minutes <= kLongestMinutes)) return std::nullopt;
  return std::chrono::minutes(static_cast<std::int64_t>(minutes));
}

}  // namespace

JobResources job_resources(const Profile& profile) {
  JobResources resources{.threads = threads_of(profile), .memory_mib = {}, .wall = wall_of(profile)};
  if (profile.peak_bytes && *profile.peak_bytes > 0) {
    const std::int64_t peak = *profile.peak_bytes / kMiB + 1;
    resources.memory_mib = peak + std::max(peak / 4, kLeastMarginMib);
  }
  resources.gpu =
      (profile.container && profile.container->gpu) || profile.configuration.text_of("device", "cpu") != "cpu";
  resources.whole_node = !profile.launch.cpus.empty();
  return resources;
}

std::string slurm_directives(const Profile& profile, const JobResources& resources) {
  const std::string name = file_stem(profile.campaign);
  std::string text = fmt::format("#SBATCH --job-name={}\n#SBATCH --output={}-%j.log\n", name, name);
  text += "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n";
  if (resources.threads > 0) text += fmt::format("#SBATCH --cpus-per-task={}\n", resources.threads);
  if (resources.memory_mib) text += fmt::format("#SBATCH --mem={}M\n", *resources.memory_mib);
  if (resources.wall) text += fmt::format("#SBATCH --time={}\n", tuner::clock_text(*resources.wall));
  if (resources.gpu) text += "#SBATCH --gres=gpu:1\n";
  if (resources.whole_node) text += "#SBATCH --exclusive\n";
  return text;
}

std::string resource_comments(const Profile& profile, const JobResources& resources) {
  std::string text = "#\n# Threads as measured.";
  if (resources.memory_mib) {
    text += fmt::format(" Memory: a quarter above the peak of {} MiB, at least {} MiB above it.",
                        *profile.peak_bytes / kMiB + 1, kLeastMarginMib);
  }
  text += "\n";
  if (resources.wall) {
    text += fmt::format(
        "# Time: the upper end of the forecast's 95 % interval for {:g} epoch{}, and a minute to start. For more\n"
        "# epochs ask for more: options of the command line take precedence over these lines.\n",
        profile.epochs, profile.epochs == 1 ? "" : "s");
  } else {
    text += "# No forecast of the time: name it on the command line.\n";
  }
  if (resources.whole_node) text += "# The whole node, for threads are bound to CPUs by number.\n";
  return text;
}

std::string job_body(const Profile& profile) {
  const std::string script = export_sh(profile);
  return script.substr(script.find('\n') + 1);
}

}  // namespace nocturne::deploy
