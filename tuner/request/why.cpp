#include "tuner/request/why.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/campaign/answer/stored_gain.hpp"

namespace nocturne::tuner {
namespace {

std::string demands_text(const Demands& demands) {
  std::vector<std::string> parts;
  if (!demands.workload.empty()) parts.push_back("workload " + demands.workload);
  if (!demands.framework.empty()) parts.push_back(demands.framework);
  if (!demands.library.empty())
    parts.push_back(demands.library + (demands.library_version.empty() ? "" : " " + demands.library_version));
  if (!demands.version.empty()) parts.push_back("version " + demands.version);
  if (demands.latest) parts.emplace_back("the latest version");
  if (!demands.cpu.empty()) parts.push_back("processor " + demands.cpu);
  if (!demands.accelerator.empty()) parts.push_back("accelerator " + demands.accelerator);
  if (demands.threads) parts.push_back(fmt::format("{} threads", *demands.threads));
  for (const auto& [compiler, wanted] : demands.graph_compilers())
    if (wanted) parts.push_back(fmt::format("{} {}", *wanted ? "with" : "without", compiler));
  if (demands.opt_build == true) parts.emplace_back("an optimised build, where an image is the answer");
  return parts.empty() ? "nothing of what trains" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string proof_text(const Answer& answer) {
  if (!answer.baseline || answer.best->trial.configuration == answer.baseline->trial.configuration)
    return "it is that campaign's default";
  if (!answer.verdict) return "it was not compared with that campaign's default in pairs";
  const StoredGain gain = gain_of(*answer.verdict, "", false);
  return fmt::format("against that campaign's default it is {} ({:+.1f} %, {:+.1f} to {:+.1f}, {} pairs)", gain.verdict,
                     gain.gain_percent, gain.low_percent, gain.high_percent, gain.pairs);
}

std::vector<std::string> measured_lines(const Fitting& chosen) {
  const db::StoredTrial& best = *chosen.answer.best;
  std::vector<std::string> lines = {fmt::format("Chosen: trial {} of campaign {}, known by {}; {}.", best.trial.number,
                                                chosen.answer.campaign.name, to_text(chosen.evidence),
                                                proof_text(chosen.answer))};
  for (const auto& [name, value] : best.trial.configuration.values())
    lines.push_back(fmt::format("  {} = {}", name, space::to_text(value)));
  if (!chosen.unproven.empty()) lines.push_back(fmt::format("Not proven: {}.", chosen.unproven));
  if (!chosen.price.empty()) lines.push_back(fmt::format("What the demand costs: {}.", chosen.price));
  return lines;
}

}  // namespace

std::vector<std::string> why_lines(const Deployment& deployment, const Choice& choice) {
  std::vector<std::string> lines = {fmt::format("Demanded: {}.", demands_text(demands_of(deployment.request)))};
  if (choice.chosen)
    for (std::string& line : measured_lines(*choice.chosen)) lines.push_back(std::move(line));
  else if (choice.offer)
    lines.push_back(fmt::format("Chosen: {} ({}).", title_of(*choice.offer), to_text(choice.offer->labels)));
  else
    lines.push_back(fmt::format("Nothing was chosen: {}.", deployment.container.empty()
                                                               ? "the command runs on the host"
                                                               : "the container stays that the request names"));
  for (const std::string& note : deployment.notes) lines.push_back("Note: " + note + ".");
  return lines;
}

std::string why_page(const Deployment& deployment, const Choice& choice) {
  std::string text = "# Why this answer\n\n";
  for (const std::string& line : why_lines(deployment, choice))
    text += line.starts_with(' ') ? fmt::format("    {}\n", line.substr(2)) : fmt::format("\n{}\n\n", line);
  if (choice.others.empty()) return text;
  text += "\n## Not chosen\n\n";
  for (const NotChosen& other : choice.others)
    text += fmt::format("- {} {}: {}\n", other.kind, other.name, other.reason);
  return text;
}

}  // namespace nocturne::tuner
