#include "tuner/deploy/blame.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/environment/requirement.hpp"

namespace nocturne::deploy {
namespace {

/// By name, what stands behind "==": the version and its hashes, of a lock's lines.
std::map<std::string, std::string> versions_of(const std::vector<std::string>& packages) {
  std::map<std::string, std::string> versions;
  for (const std::string& each : packages) {
    const auto equals = each.find("==");
    versions[each.substr(0, equals)] = equals == std::string::npos ? "" : each.substr(equals + 2);
  }
  return versions;
}

/// "1.0 is 2.0", or that it is another file under the same version. Empty: nothing that is known.
std::string version_change(const std::string& before, const std::string& now) {
  const auto old_version = measure::version_in_lock(before), new_version = measure::version_in_lock(now);
  if (old_version != new_version) return fmt::format("{} is {}", old_version, new_version);
  if (before == now || !measure::has_hash(before) || !measure::has_hash(now)) return {};
  return fmt::format("{} is another file", new_version);
}

std::vector<std::string> packages_of(const db::BuildRecord& build) {
  const auto found = build.flags.find("packages");
  if (found == build.flags.end() || !found->is_array()) return {};
  std::vector<std::string> packages;
  for (const auto& each : *found)
    if (each.is_string()) packages.push_back(each.get<std::string>());
  return packages;
}

/// Part of what is linked into, or loaded by, a program that we build.
bool is_part_of_build(const std::string& field) {
  return field == "software.onednn";
}

std::string short_key(const std::string& key) {
  return key.empty() ? "none" : key.substr(0, 12);
}

/// "march 'native' is 'x86-64-v4'": what the builder was told.
std::string flag_changes(const nlohmann::json& before, const nlohmann::json& now) {
  std::vector<std::string> words;
  for (const auto& [key, value] : now.items()) {
    const auto found = before.find(key);
    if (found == before.end() || *found == value) continue;
    const auto plain = [](const nlohmann::json& each) {
      return each.is_string() ? each.get<std::string>() : each.dump();
    };
    words.push_back(fmt::format("{} '{}' is '{}'", key, plain(*found), plain(value)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

void add_program(const Circumstances& then, const Circumstances& now, const Evidence& evidence,
                 std::vector<CandidateCause>& causes) {
  if (then.artifact == now.artifact) return;
  const bool environment = now.build && db::environment_of(*now.build);
  CandidateCause program{.name = environment ? "packages" : "program",
                         .before = short_key(then.artifact),
                         .now = short_key(now.artifact),
                         .apart = evidence.old_program ? Apart::Program : Apart::No};
  if (environment && then.build) {
    program.now = package_changes(packages_of(*then.build), packages_of(*now.build));
    if (program.now.empty()) program.now = "the same packages, another Python or recipe";
    program.before = "environment " + short_key(then.artifact);
  }
  if (!evidence.old_program)
    program.why_not = environment ? "the environment of then was removed" : "the build of then was removed";
  causes.push_back(std::move(program));

  if (environment || !then.build || !now.build) return;
  if (const auto changed = flag_changes(then.build->flags, now.build->flags); !changed.empty()) {
    CandidateCause flags{.name = "flags",
                         .before = "as recorded",
                         .now = changed,
                         .apart = evidence.old_program ? Apart::Together : Apart::No};
    if (!evidence.old_program) flags.why_not = "the build of then was removed";
    causes.push_back(std::move(flags));
  }
  if (then.build->compiler == now.build->compiler) return;
  CandidateCause compiler{.name = "compiler",
                          .before = then.build->compiler,
                          .now = now.build->compiler,
                          .apart = evidence.old_compiler.empty() ? Apart::Together : Apart::Compiler};
  if (evidence.old_compiler.empty()) compiler.why_not = "the compiler of then is not installed";
  if (evidence.old_compiler.empty() && !evidence.old_program) compiler.apart = Apart::No;
  causes.push_back(std::move(compiler));
}

std::string loss_words(const CandidateCause& cause) {
  const measure::Comparison& measured = *cause.measured;
  return fmt::format("{} ({} → {}): {:+.1f} % ({:+.1f} to {:+.1f} %, {} pairs)", cause.name, cause.before, cause.now,
                     measured.gain_percent, measured.low_percent, measured.high_percent, measured.pairs);
}

bool is_loss(const CandidateCause& cause) {
  return cause.measured && cause.measured->pairs >= 2 && cause.measured->high_percent < 0;
}

/// Measured, and surely no loss worth the name.
bool is_cleared(const CandidateCause& cause) {
  return cause.measured &&
         (cause.measured->verdict == measure::Verdict::Same || cause.measured->verdict == measure::Verdict::Faster);
}

}  // namespace

std::string package_changes(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  const auto old_versions = versions_of(before), new_versions = versions_of(now);
  std::vector<std::string> words;
  for (const auto& [name, version] : old_versions) {
    const auto found = new_versions.find(name);
    if (found == new_versions.end())
      words.push_back(name + " is gone");
    else if (const std::string change = version_change(version, found->second); !change.empty())
      words.push_back(fmt::format("{} {}", name, change));
  }
  for (const auto& [name, version] : new_versions)
    if (!old_versions.contains(name))
      words.push_back(fmt::format("{} {} is new", name, measure::version_in_lock(version)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<CandidateCause> candidate_causes(const Circumstances& then, const Circumstances& now,
                                             const Evidence& evidence) {
  std::vector<CandidateCause> causes;
  add_program(then, now, evidence, causes);
  const bool program_measured = !causes.empty() && causes.front().apart == Apart::Program;
  for (const space::FingerprintDifference& each : then.machine.differences(now.machine)) {
    if (then.machine.find(each.name) == nullptr) continue;  // not recorded then: a profile knows less than a database
    CandidateCause cause{.name = each.name, .before = each.before, .now = each.now, .match = each.match};
    if (is_part_of_build(each.name) && then.artifact != now.artifact) {
      cause.apart = program_measured ? Apart::Together : Apart::No;
      if (!program_measured) cause.why_not = "the build of then was removed";
    } else {
      cause.why_not = "this machine has one at a time";
    }
    causes.push_back(std::move(cause));
  }
  return causes;
}

Blame conclude(const std::vector<CandidateCause>& causes, const std::optional<WholeChange>& change) {
  Blame blame;
  if (causes.empty()) {
    const bool slower = change && change->log_ratio > change->explained;
    blame.told = !slower;
    blame.sentence = slower ? fmt::format(
                                  "it takes {:+.1f} %, but nothing that is recorded has changed: look for what else "
                                  "runs here",
                                  100 * std::expm1(change->log_ratio))
                            : "nothing that is recorded has changed";
    return blame;
  }
  std::vector<std::string> losses, open;
  for (const CandidateCause& each : causes) {
    if (is_loss(each)) {
      blame.culprits.push_back(each.name);
      losses.push_back(loss_words(each));
    } else if (!is_cleared(each) && each.apart != Apart::Together) {
      open.push_back(each.name);
    }
  }
  if (!losses.empty()) {
    blame.told = true;
    blame.sentence = fmt::format("slower by the change of {}", fmt::join(losses, "; "));
    return blame;
  }
  if (change && change->log_ratio <= change->explained) {
    blame.told = true;
    blame.sentence = fmt::format(
        "nothing became slower, as far as can be told: it takes {:+.1f} %, and between-process spread explains {:.1f} "
        "%",
        100 * std::expm1(change->log_ratio), 100 * std::expm1(change->explained));
    return blame;
  }
  if (open.empty()) {
    blame.told = true;
    blame.sentence = "none of what changed made it slower";
    return blame;
  }
  blame.sentence = fmt::format("it cannot be told: {} changed and could not be set apart, or more pairs are needed",
                               fmt::join(open, ", "));
  return blame;
}

}  // namespace nocturne::deploy
