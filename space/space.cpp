#include "space/space.hpp"

#include <algorithm>

#include "space/counting/counting.hpp"
#include "space/digest.hpp"
#include "space/model.hpp"

namespace nocturne::space {
namespace {

/// A table is named by its columns and a digest: equal tables, equal text.
nlohmann::json rows_to_json(const Space::Model& model) {
  const auto& [columns, table, because] = *model.rows;
  auto names = nlohmann::json::array();
  for (const auto column : columns) names.push_back(model.parameters[column].name);
  Sha256 digest;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string text;
    for (const auto cell : table.row(row)) text += std::to_string(cell) + ",";
    digest.update(text);
  }
  return {{"parameters", names}, {"count", table.rows()}, {"sha256", digest.finish()}, {"because", because}};
}

}  // namespace

const std::vector<Parameter>& Space::parameters() const {
  return model_->parameters;
}

const Parameter* Space::find(std::string_view name) const {
  const auto found = model_->by_name.find(name);
  return found == model_->by_name.end() ? nullptr : &model_->parameters[found->second];
}

const std::vector<ConstraintSpec>& Space::constraints() const {
  return model_->constraints;
}

const Configuration& Space::default_configuration() const {
  return model_->default_configuration;
}

std::vector<std::string> Space::check(const Configuration& configuration) const {
  std::vector<std::string> reasons;
  const auto assignment = model_->assignment_of(configuration, reasons);
  // A combination is looked up only where it is whole: what is missing has been said.
  if (reasons.empty() && !model_->satisfies_rows(assignment)) reasons.push_back(model_->rows->because);
  auto violations = model_->violations(assignment);
  reasons.insert(reasons.end(), std::make_move_iterator(violations.begin()), std::make_move_iterator(violations.end()));
  return reasons;
}

bool Space::contains(const Configuration& configuration) const {
  return check(configuration).empty();
}

bool Space::admits(std::span<const Cell> cells) const {
  Assignment assignment(model_->parameters.size());
  for (const auto index : model_->activation_order) {
    if (model_->is_active(index, assignment) != (cells[index] != kNoValue)) return false;
    if (cells[index] == kNoValue) continue;
    if (cells[index] >= model_->parameters[index].size()) return false;
    assignment[index] = model_->operand(index, cells[index]);
  }
  return model_->satisfies_all(assignment);
}

Configuration Space::normalise(const Configuration& configuration) const {
  Configuration result;
  Assignment assignment(model_->parameters.size());
  for (const auto index : model_->activation_order) {
    const auto& parameter = model_->parameters[index];
    if (!model_->is_active(index, assignment)) continue;
    const auto* given = configuration.find(parameter.name);
    auto value = given == nullptr ? parameter.default_value : *given;
    if (parameter.is_real()) {
      const auto number = Operand::of(value);
      if (number.is_number() && number.type() != Operand::Type::Bool && number.number() >= parameter.real_lower &&
          number.number() <= parameter.real_upper) {
        value = parameter.round(number.number());
      }
    }
    if (parameter.contains(value)) {
      assignment[index] = parameter.is_real() ? Operand::of(value) : model_->operand(index, *parameter.index_of(value));
    }
    result.set(parameter.name, std::move(value));
  }
  return result;
}

Size Space::cardinality() const {
  Size size{.count = Count(1), .approximate = 1};
  for (const auto& parameter : model_->parameters) {
    if (parameter.is_real()) {
      if (parameter.real_lower < parameter.real_upper) size.kind = Size::Kind::Infinite;
      continue;
    }
    size.count = size.count * Count(parameter.size());
    size.approximate *= static_cast<double>(parameter.size());
  }
  return size;
}

Size Space::count() const {
  return model_->counting().count();
}

Effort Space::effort() const {
  return model_->counting().effort();
}

std::optional<Configuration> Space::sample(Random& random) const {
  const auto assignment = model_->counting().sample(random);
  if (!assignment) return std::nullopt;
  return model_->configuration_of(*assignment);
}

std::optional<Configuration> Space::at(Count number) const {
  const auto size = count();
  if (size.kind != Size::Kind::Exact || size.count.is_saturated() || number >= size.count) return std::nullopt;
  return model_->configuration_of(model_->counting().at(number));
}

Enumerator Space::enumerate() const {
  return Enumerator(model_);
}

bool Space::for_each(const std::function<bool(const Configuration&)>& visit) const {
  auto all = enumerate();
  while (const auto configuration = all.next()) {
    if (!visit(*configuration)) return false;
  }
  return true;
}

nlohmann::json Space::to_json() const {
  nlohmann::json document = {{"parameters", nlohmann::json::array()}, {"constraints", nlohmann::json::array()}};
  for (const auto& parameter : model_->parameters) document["parameters"].push_back(parameter.to_json());
  for (const auto& constraint : model_->constraints) {
    document["constraints"].push_back({{"require", constraint.require}, {"because", constraint.because}});
  }
  if (model_->rows) document["rows"] = rows_to_json(*model_);
  return document;
}

}  // namespace nocturne::space
