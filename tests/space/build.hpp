#pragma once

/// Short ways to describe spaces in tests.

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "space/space.hpp"

namespace nocturne::space::test {

inline ParameterSpec integers(std::string name, std::int64_t lower, std::int64_t upper, std::string active_if = "") {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.domain = IntegerRangeSpec{.lower = lower, .upper = upper};
  spec.active_if = std::move(active_if);
  return spec;
}

inline ParameterSpec boolean(std::string name, std::string active_if = "") {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.domain = BooleanSpec{};
  spec.active_if = std::move(active_if);
  return spec;
}

inline ParameterSpec choices(std::string name, std::vector<Value> values, std::string active_if = "") {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.domain = CategoricalSpec{std::move(values)};
  spec.active_if = std::move(active_if);
  return spec;
}

inline ParameterSpec ordered(std::string name, std::vector<Value> values, std::string active_if = "") {
  auto spec = choices(std::move(name), {}, std::move(active_if));
  spec.domain = OrdinalSpec{std::move(values)};
  return spec;
}

inline ParameterSpec reals(std::string name, double lower, double upper, bool logarithmic = false) {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.domain = RealRangeSpec{.lower = lower, .upper = upper, .logarithmic = logarithmic};
  return spec;
}

inline ParameterSpec with_default(ParameterSpec spec, Value value) {
  spec.default_value = std::move(value);
  return spec;
}

inline ConstraintSpec require_that(std::string expression) {
  auto because = "because of " + expression;
  return {std::move(expression), std::move(because)};
}

inline Space make_space(const std::vector<ParameterSpec>& parameters,
                        const std::vector<ConstraintSpec>& constraints = {}, const Facts& facts = {}) {
  auto space = Space::create(parameters, constraints, facts);
  if (!space) {
    std::string all;
    for (const auto& error : space.error()) all += error.to_text() + "\n";
    FAIL(all);
  }
  return std::move(*space);
}

inline std::vector<SpaceError> errors_of(const std::vector<ParameterSpec>& parameters,
                                         const std::vector<ConstraintSpec>& constraints = {}, const Facts& facts = {}) {
  auto space = Space::create(parameters, constraints, facts);
  REQUIRE_FALSE(space.has_value());
  return space.error();
}

}  // namespace nocturne::space::test
