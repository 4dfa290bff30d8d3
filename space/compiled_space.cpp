#include "space/compiled_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "space/counting/counting.hpp"
#include "space/nearest.hpp"

namespace nocturne::space {

CompiledCondition::CompiledCondition(Expression expression)
    : expression_(std::move(expression)),
      // Expression::parse() has tried it.
      program_(Program::compile(expression_.tree(), expression_.tree().root, {}).value()) {}

Operand CompiledCondition::evaluate(const Assignment& assignment) const {
  for (const auto parameter : expression_.mentions())
    if (assignment[parameter].is_nothing()) return {};
  return program_.run(assignment.data());
}

Space::Compiled::Compiled() = default;
Space::Compiled::~Compiled() = default;

bool Space::Compiled::is_active(std::size_t parameter, const Assignment& assignment) const {
  return !activity[parameter] || activity[parameter]->evaluate(assignment).truth();
}

bool Space::Compiled::satisfies(std::size_t constraint, const Assignment& assignment) const {
  const auto value = requirements[constraint].evaluate(assignment);
  return value.is_nothing() || value.truth();
}

bool Space::Compiled::satisfies_all(const Assignment& assignment) const {
  for (std::size_t i = 0; i < requirements.size(); ++i)
    if (!satisfies(i, assignment)) return false;
  return satisfies_rows(assignment);
}

bool Space::Compiled::satisfies_rows(const Assignment& assignment) const {
  if (!rows) return true;
  RowTable::Range range{0, rows->table.rows()};
  for (std::size_t c = 0; c < rows->columns.size() && range.first < range.second; ++c)
    range = rows->table.narrow(range, c, cell(rows->columns[c], assignment[rows->columns[c]]));
  return range.first < range.second;
}

std::vector<std::string> Space::Compiled::violations(const Assignment& assignment) const {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    const auto value = requirements[i].evaluate(assignment);
    if (value.is_nothing() || value.truth()) continue;
    if (value.is_failure()) {
      reasons.push_back(
          fmt::format("{} ({}: {})", constraints[i].because, constraints[i].require, to_text(value.failure())));
    } else {
      reasons.push_back(constraints[i].because);
    }
  }
  return reasons;
}

Operand Space::Compiled::operand(std::size_t parameter, std::uint64_t index) const {
  const auto& held = parameters[parameter];
  if (held.kind == Kind::Integer) return Operand::of(std::get<std::int64_t>(held.value(index)));
  return Operand::of(held.values[index]);
}

Cell Space::Compiled::cell(std::size_t parameter, Operand operand) const {
  if (operand.is_nothing()) return kNoValue;
  const auto& held = parameters[parameter];
  if (held.kind == Kind::Integer) {
    return static_cast<Cell>((static_cast<std::uint64_t>(operand.integer()) - static_cast<std::uint64_t>(held.lower)) /
                             static_cast<std::uint64_t>(held.step));
  }
  const auto found = std::ranges::find_if(held.values, [&](const Value& each) {
    // A default's text is not the text in the list, only equal to it.
    const auto* text = std::get_if<std::string>(&each);
    return text != nullptr && operand.is_text() ? *text == operand.text() : Operand::of(each) == operand;
  });
  return static_cast<Cell>(found - held.values.begin());
}

Operand Space::Compiled::default_operand(std::size_t parameter) const {
  return Operand::of(parameters[parameter].default_value);
}

void Space::Compiled::settle_activity(Assignment& assignment) const {
  for (const auto parameter : activation_order)
    if (!is_active(parameter, assignment))
      assignment[parameter] = Operand();
    else if (assignment[parameter].is_nothing())
      assignment[parameter] = default_operand(parameter);
}

Assignment Space::Compiled::assignment_of(const Configuration& configuration, std::vector<std::string>& reasons) const {
  Assignment assignment(parameters.size());
  for (const auto parameter : activation_order) {
    const auto& held = parameters[parameter];
    const auto* value = configuration.find(held.name);
    if (!is_active(parameter, assignment)) {
      if (value != nullptr)
        reasons.push_back(fmt::format("'{}' is set, and it is active only if {}", held.name, held.active_if));
    } else if (value == nullptr) {
      reasons.push_back(fmt::format("'{}' is missing", held.name));
    } else if (!held.contains(*value)) {
      reasons.push_back(fmt::format("'{}' is {}, it must be {}", held.name, to_text(*value), held.domain_text()));
    } else if (held.is_real()) {
      assignment[parameter] = Operand::of(*value);
    } else {
      assignment[parameter] = operand(parameter, *held.index_of(*value));  // texts of our own, not of the configuration
    }
  }
  for (const auto& [name, value] : configuration.values()) {
    if (by_name.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& each : parameters) names.push_back(each.name);
    reasons.push_back(fmt::format("unknown parameter '{}'{}", name, did_you_mean(name, names)));
  }
  return assignment;
}

Configuration Space::Compiled::configuration_of(const Assignment& assignment) const {
  Configuration::Values values;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!assignment[i].is_nothing()) values.emplace(parameters[i].name, assignment[i].value());
  return Configuration(std::move(values));
}

const Counting& Space::Compiled::counting() const {
  std::call_once(counted_, [this] { counting_ = std::make_unique<const Counting>(*this); });
  return *counting_;
}

}  // namespace nocturne::space
