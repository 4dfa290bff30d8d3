#include "tuner/deploy/verification.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "measure/run/command_template.hpp"
#include "tuner/campaign_file/command_section.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::deploy {
namespace {

using nlohmann::json;

/// A text as a literal of the expressions of campaign files.
std::string literal(const space::Value& value) {
  const json plain = space::to_json(value);
  if (plain.is_boolean()) return plain.get<bool>() ? "True" : "False";
  if (!plain.is_string()) return plain.dump();
  std::string quoted = "'";
  for (const char c : plain.get<std::string>()) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

/// An expression that is true in `here` alone; empty: every parameter that both have is the same.
std::string tells_apart(const space::Configuration& here, const space::Configuration& there) {
  for (const auto& [name, value] : here.values()) {
    const space::Value* other = there.find(name);
    if (other != nullptr && *other != value) return fmt::format("{} == {}", name, literal(value));
  }
  return {};
}

json parameter_of(const std::string& name, const space::Value& first, const space::Value* second) {
  json parameter = {{"name", name}, {"stage", "run"}, {"default", space::to_json(first)}};
  if (std::holds_alternative<bool>(first)) {
    parameter["type"] = "boolean";
    return parameter;
  }
  parameter["values"] = json::array({space::to_json(first)});
  if (second != nullptr && *second != first) parameter["values"].push_back(space::to_json(*second));
  return parameter;
}

/// Parameters that the user's command names and neither configuration has: they are active in none.
json inactive_parameters(const json& own_command, const space::Configuration& baseline,
                         const space::Configuration& candidate) {
  json parameters = json::array();
  const auto command = measure::command_from_json(own_command);
  if (!command) return parameters;  // who reads the campaign says why
  const auto named = tuner::names_in(*command);
  const auto& [known, value] = *baseline.values().begin();
  for (const std::string& name : std::set(named.begin(), named.end())) {
    if (measure::is_run_place(name) || baseline.find(name) != nullptr || candidate.find(name) != nullptr) continue;
    parameters.push_back({{"name", name},
                          {"stage", "run"},
                          {"values", {"none"}},
                          {"default", "none"},
                          {"active_if", fmt::format("{0} == {1} and {0} != {1}", known, literal(value))}});
  }
  return parameters;
}

std::string interval_text(const measure::Comparison& comparison) {
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %, {} pairs)", comparison.gain_percent, comparison.low_percent,
                     comparison.high_percent, comparison.pairs);
}

}  // namespace

std::string_view to_text(VerificationOutcome finding) {
  switch (finding) {
    case VerificationOutcome::Holds:
      return "holds";
    case VerificationOutcome::DoesNotHold:
      return "does not hold";
    case VerificationOutcome::NotMeasured:
      break;
  }
  return "could not be measured";
}

std::expected<json, std::string> verification_campaign(const Profile& profile,
                                                       const measure::ComparisonPolicy& policy) {
  if (!profile.gain) {
    return std::unexpected(
        fmt::format("the profile was not compared with a default, so there is nothing to hold: '{}' here",
                    tuner::command_text("tune", profile.training.own_command.is_object() ? "-- COMMAND" : "FILE")));
  }
  const space::Configuration& baseline = profile.gain->baseline;
  const space::Configuration& candidate = profile.configuration;
  if (baseline == candidate) return std::unexpected("the profile is the default itself");
  json parameters = json::array();
  for (const auto& [name, value] : baseline.values()) {
    json parameter = parameter_of(name, value, candidate.find(name));
    if (candidate.find(name) == nullptr) parameter["active_if"] = tells_apart(baseline, candidate);
    parameters.push_back(std::move(parameter));
  }
  for (const auto& [name, value] : candidate.values()) {
    if (baseline.find(name) != nullptr) continue;
    json parameter = parameter_of(name, value, nullptr);
    parameter["active_if"] = tells_apart(candidate, baseline);
    parameters.push_back(std::move(parameter));
  }
  for (const json& parameter : parameters) {
    if (parameter.value("active_if", "always").empty()) {
      return std::unexpected(
          "the default and the profile differ only in which settings exist; write a campaign of the two");
    }
  }
  json worker = json::object();
  if (profile.training.own_command.is_object()) {
    worker = profile.training.own_command;
    for (json& parameter : inactive_parameters(worker, baseline, candidate)) parameters.push_back(std::move(parameter));
  } else if (profile.training.is_command()) {
    worker["command"] = json::array({profile.training.program.string()});
    for (const std::string& argument : profile.training.arguments) worker["command"].push_back(argument);
  }
  json campaign = {
      {"campaign", "verify-" + file_stem(profile.campaign).substr(0, 50)},
      {"description", "Made by 'nocturne verify': does a profile hold on this machine?"},
      {"workload", space::to_json(profile.workload)},
      {"objective", {{"minimise", profile.minimise}, {"epochs", json::array({profile.epochs})}}},
      {"space", {{"parameters", std::move(parameters)}}},
      {"strategy", {{"name", "random"}, {"history", false}}},
      {"budget", {{"trials", 1}}},
      {"run", {{"steps", profile.training.steps}, {"repeats", 1}}},
      {"verify",
       {{"pairs", policy.pairs},
        {"most_pairs", std::max(policy.pairs, policy.most_pairs)},
        {"margin_percent", policy.margin_percent},
        {"finalists", 1},
        {"simplify", false},
        {"accuracy_epochs", 0}}},
  };
  if (!worker.empty()) campaign["worker"] = std::move(worker);
  return campaign;
}

Verification verification_of(const measure::ComparisonMember& pairs, const Profile& profile, double margin_percent,
                             const std::string& end) {
  Verification result{.comparison = pairs.comparison};
  if (pairs.state == measure::MemberState::Failed) {
    result.because = "pair after pair failed";
  } else if (pairs.state == measure::MemberState::Lost) {
    result.because = "pair after pair was ended from outside";
  } else if (!pairs.comparison) {
    result.because = end + " before there were two pairs";
  } else if (pairs.comparison->low_percent > 0) {
    result.finding = VerificationOutcome::Holds;
    result.because = "faster than the default: " + interval_text(*pairs.comparison);
    if (profile.gain && pairs.comparison->high_percent < profile.gain->low_percent) {
      result.because += fmt::format(", less than the {:+.1f} to {:+.1f} % where it was tuned",
                                    profile.gain->low_percent, profile.gain->high_percent);
    }
  } else if (pairs.comparison->high_percent < margin_percent) {
    const bool slower = pairs.comparison->verdict == measure::Verdict::Slower;
    result.finding = VerificationOutcome::DoesNotHold;
    result.because =
        fmt::format("{} than the default: {}", slower ? "slower" : "no faster", interval_text(*pairs.comparison));
  } else {
    result.because = fmt::format("undecided, {}: {}", end, interval_text(*pairs.comparison));
  }
  return result;
}

}  // namespace nocturne::deploy
