#include "tests/space/random_space.hpp"

#include <fmt/format.h>

#include "space/expression/expression.hpp"
#include "tests/space/build.hpp"

namespace nocturne::space::test {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Description run() {
    Description result;
    const auto count = 2 + pick(5);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto spec = parameter(fmt::format("p{}", i));
      if (i > 0 && pick(3) == 0) spec.active_if = condition(1);
      result.parameters.push_back(std::move(spec));
      textual_.push_back(std::holds_alternative<CategoricalSpec>(result.parameters.back().domain));
    }
    const auto constraints = pick(4);
    for (std::uint64_t i = 0; i < constraints; ++i) result.constraints.push_back(require_that(condition(2)));
    return result;
  }

 private:
  std::uint64_t pick(std::uint64_t bound) { return random_.below(bound); }

  ParameterSpec parameter(std::string name) {
    switch (pick(4)) {
      case 0:
        return boolean(std::move(name));
      case 1: {
        auto spec = integers(std::move(name), -2 + static_cast<std::int64_t>(pick(3)), 3);
        return spec;
      }
      case 2:
        return ordered(std::move(name), {std::int64_t{1}, 2.5, std::int64_t{4}, std::int64_t{0}});
      default:
        return choices(std::move(name), {std::string("ab"), std::string("b"), std::string("")});
    }
  }

  std::string number() {
    for (int tries = 0; tries < 8; ++tries) {
      const auto which = pick(textual_.size());
      if (!textual_[which]) return fmt::format("p{}", which);
    }
    return fmt::format("{}", pick(5));
  }

  std::string arithmetic() {
    constexpr std::array<const char*, 7> kOperators = {"+", "-", "*", "//", "%", "/", "**"};
    switch (pick(4)) {
      case 0:
        return number();
      case 1:
        return fmt::format("({} {} {}) {} {}", number(), kOperators[pick(3)], number(), kOperators[pick(6)], number());
      case 2:
        return fmt::format("max({}, {} {} 2)", number(), number(), kOperators[pick(3)]);
      default:
        return fmt::format("{} {} {}", number(), kOperators[pick(7)], number());
    }
  }

  std::string condition(int depth) {
    constexpr std::array<const char*, 6> kComparisons = {"<", "<=", "==", "!=", ">", ">="};
    switch (depth == 0 ? pick(3) : pick(7)) {
      case 0:
        return fmt::format("{} {} {}", arithmetic(), kComparisons[pick(6)], arithmetic());
      case 1: {
        const auto which = pick(textual_.size());
        if (textual_[which]) return fmt::format("p{} {} 'b'", which, pick(2) == 0 ? "==" : "!=");
        return fmt::format("p{} in [1, {}, 2.5]", which, number());
      }
      case 2:
        return fmt::format("-1 <= {} < {}", number(), arithmetic());
      case 3:
        return fmt::format("not ({})", condition(depth - 1));
      case 4:
        return fmt::format("({}) and {}", condition(depth - 1), condition(depth - 1));
      default:
        return fmt::format("({}) or {}", condition(depth - 1), condition(depth - 1));
    }
  }

  Random random_;
  std::vector<bool> textual_;
};

}  // namespace

Description random_description(std::uint64_t seed) {
  return Generator(seed).run();
}

Space random_space(std::uint64_t& seed, Description& description) {
  for (;;) {
    description = random_description(seed++);
    if (auto space = Space::create(description.parameters, description.constraints, {})) return std::move(*space);
  }
}

std::set<std::string> valid_by_brute_force(const Space& space, const Description& description) {
  const auto& parameters = space.parameters();
  std::vector<std::optional<Expression>> conditions;
  for (const auto& spec : description.parameters) {
    conditions.emplace_back(std::nullopt);
    if (!spec.active_if.empty()) conditions.back().emplace(*Expression::parse(spec.active_if, parameters, {}));
  }
  std::vector<Expression> constraints;
  for (const auto& spec : description.constraints)
    constraints.push_back(*Expression::parse(spec.require, parameters, {}));

  std::set<std::string> valid;
  std::vector<std::uint64_t> digits(parameters.size(), 0);
  for (bool more = true; more;) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < digits.size(); ++i) values.push_back(parameters[i].value(digits[i]));
    std::vector<bool> active(parameters.size(), true);
    const auto all_active = [&](const Expression& expression) {
      for (const auto each : expression.mentions())
        if (!active[each]) return false;
      return true;
    };
    Configuration configuration;
    for (std::size_t i = 0; i < digits.size(); ++i) {  // conditions mention earlier parameters only
      active[i] = !conditions[i] || (all_active(*conditions[i]) && conditions[i]->holds(values).value_or(false));
      if (active[i]) configuration.set(parameters[i].name, values[i]);
    }
    bool holds = true;
    for (const auto& each : constraints) holds = holds && (!all_active(each) || each.holds(values).value_or(false));
    if (holds) valid.insert(configuration.canonical());
    more = false;
    for (std::size_t i = 0; i < digits.size() && !more; ++i) {
      more = ++digits[i] < parameters[i].size();
      if (!more) digits[i] = 0;
    }
  }
  return valid;
}

}  // namespace nocturne::space::test
