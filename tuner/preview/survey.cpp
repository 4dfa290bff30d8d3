#include "tuner/preview/survey.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/space_section.hpp"

namespace nocturne::tuner {
namespace {

// Walking this many configurations takes about a second; above it the builds are counted without walking.
constexpr double kWalked = 200'000;

/// The description from which an equal parameter is made.
space::ParameterSpec spec_of(const space::Parameter& parameter) {
  space::DomainSpec domain;
  switch (parameter.kind) {
    case space::Kind::Boolean:
      domain = space::BooleanSpec{};
      break;
    case space::Kind::Integer:
      domain = space::IntegerRangeSpec{parameter.lower, std::get<std::int64_t>(parameter.value(parameter.size() - 1)),
                                       parameter.step, parameter.logarithmic};
      break;
    case space::Kind::Real:
      domain = space::RealRangeSpec{parameter.real_lower, parameter.real_upper, parameter.logarithmic};
      break;
    case space::Kind::Ordinal:
      domain = space::OrdinalSpec{parameter.values};
      break;
    case space::Kind::Categorical:
      domain = space::CategoricalSpec{parameter.values};
      break;
  }
  return {.name = parameter.name,
          .stage = parameter.stage,
          .domain = std::move(domain),
          .default_value = parameter.default_value,
          .unit = parameter.unit,
          .description = parameter.description,
          .active_if = parameter.active_if};
}

std::vector<space::ParameterSpec> specs_of(const space::Space& space) {
  std::vector<space::ParameterSpec> specs;
  for (const space::Parameter& parameter : space.parameters()) specs.push_back(spec_of(parameter));
  return specs;
}

bool is_exact(const space::Size& size) {
  return size.kind == space::Size::Kind::Exact && !size.count.is_saturated();
}

bool is_prepared(const space::Parameter& parameter) {
  return parameter.stage == space::Stage::Environment || parameter.stage == space::Stage::Build;
}

/// The values of its prepared parameters.
space::Configuration build_of(const space::Configuration& configuration,
                              const std::vector<const space::Parameter*>& prepared) {
  space::Configuration build;
  for (const space::Parameter* parameter : prepared)
    if (const space::Value* value = configuration.find(parameter->name)) build.set(parameter->name, *value);
  return build;
}

/// By walking all configurations. What is prepared changes last there, so most have the build of the one before.
std::uint64_t walked_builds(const space::Space& space) {
  std::vector<const space::Parameter*> prepared;
  for (const space::Parameter& parameter : space.parameters())
    if (is_prepared(parameter)) prepared.push_back(&parameter);
  const auto same = [&](const space::Configuration& a, const space::Configuration& b) {
    return std::ranges::all_of(prepared, [&](const space::Parameter* each) {
      const space::Value* x = a.find(each->name);
      const space::Value* y = b.find(each->name);
      return (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
    });
  };
  std::set<std::string> builds;
  std::optional<space::Configuration> last;
  space.for_each([&](const space::Configuration& configuration) {
    if (last && same(*last, configuration)) return true;
    last = configuration;
    builds.insert(build_of(configuration, prepared).canonical());
    return true;
  });
  return builds.size();
}

/// Whether all parameters that an expression names are prepared ones.
bool stays_within(const std::string& expression, const space::Space& space) {
  return std::ranges::all_of(expression_words(expression), [&](const std::string& word) {
    const space::Parameter* parameter = space.find(word);
    return parameter == nullptr || is_prepared(*parameter);
  });
}

BuildCount count_builds(const space::Space& space, const space::Facts& facts, const space::Size& valid) {
  if (std::ranges::none_of(space.parameters(), is_prepared)) return {{.count = 1, .approximate = 1}};
  if (is_exact(valid) && valid.approximate <= kWalked) {
    const std::uint64_t builds = walked_builds(space);
    return {{.count = builds, .approximate = static_cast<double>(builds)}};
  }
  std::vector<space::ParameterSpec> parameters;
  for (const space::Parameter& parameter : space.parameters()) {
    if (!is_prepared(parameter)) continue;
    parameters.push_back(spec_of(parameter));
    if (!stays_within(parameter.active_if, space)) parameters.back().active_if.clear();
  }
  std::vector<space::ConstraintSpec> constraints;
  for (const space::ConstraintSpec& constraint : space.constraints())
    if (stays_within(constraint.require, space)) constraints.push_back(constraint);
  const bool at_most = constraints.size() < space.constraints().size();
  const auto builds = space::Space::create(parameters, constraints, facts);
  return {builds ? builds->count() : space.cardinality(), at_most || !builds};
}

}  // namespace

Survey survey(const space::Space& space, const space::Facts& facts, std::chrono::milliseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<space::ParameterSpec> parameters = specs_of(space);
  const auto free = space::Space::create(parameters, {}, facts);
  Survey result{.combinations = free ? free->count() : space.cardinality(), .valid = space.count()};
  result.builds = count_builds(space, facts, result.valid);
  for (const space::ConstraintSpec& constraint : space.constraints()) {
    ConstraintEffect effect{.constraint = constraint};
    if (is_exact(result.combinations) && std::chrono::steady_clock::now() - begin < patience) {
      const auto alone = space::Space::create(parameters, std::span(&constraint, 1), facts);
      const space::Size left = alone ? alone->count() : space::Size{.kind = space::Size::Kind::Estimate};
      if (is_exact(left))
        effect.removed = space::Count::from_bits(result.combinations.count.bits() - left.count.bits());
    }
    result.constraints.push_back(std::move(effect));
  }
  return result;
}

EnvironmentsAhead environments_ahead(const CampaignSpec& spec, const Frameworks& frameworks) {
  EnvironmentsAhead ahead;
  for (const std::string& name : wanted_frameworks(spec)) {
    const measure::EnvironmentRecipe* recipe = frameworks.recipe(name);
    if (recipe == nullptr || !recipe->is_installed()) continue;
    if (const auto environment = frameworks.installed(name)) {
      ahead.installed.push_back(name);
      ahead.disk_bytes += static_cast<std::int64_t>(environment->bytes);
      continue;
    }
    ahead.to_install.push_back(name);
    ahead.download_bytes += recipe->download_bytes;
    ahead.new_disk_bytes += recipe->disk_bytes;
    ahead.seconds += usual_install_seconds(*recipe);
  }
  ahead.disk_bytes += ahead.new_disk_bytes;
  const EnvironmentSettings& limits = spec.environments;
  if (ahead.to_install.empty()) return ahead;
  if (!limits.install) {
    ahead.limit = "environments.install is false: their software stacks will be unsupported";
  } else if (limits.download_bytes && ahead.download_bytes > *limits.download_bytes) {
    ahead.limit =
        fmt::format("environments.download is {} MB: software stacks that would exceed it will be unsupported",
                    *limits.download_bytes / 1'000'000);
  } else if (limits.disk_bytes && ahead.disk_bytes > *limits.disk_bytes) {
    ahead.limit = fmt::format("environments.disk is {} MB: software stacks that would exceed it will be unsupported",
                              *limits.disk_bytes / 1'000'000);
  }
  return ahead;
}

}  // namespace nocturne::tuner
