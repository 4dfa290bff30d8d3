// Space::create(): everything that is checked before a space exists.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "space/compiled_space.hpp"
#include "space/counting/counting.hpp"
#include "space/counting/row_table_resolver.hpp"
#include "space/expression/checker.hpp"
#include "space/expression/expression.hpp"
#include "space/expression/operand.hpp"
#include "space/facts.hpp"
#include "space/parameter.hpp"
#include "space/space.hpp"

namespace nocturne::space {
namespace {

// ParameterSpec to Parameter: evaluates bounds and defaults on one machine and reports what is wrong. Internal to
// space.

class Resolver {
 public:
  Resolver(const ParameterSpec& spec, std::string path, const Facts& facts, std::vector<SpaceError>& errors)
      : spec_(spec), path_(std::move(path)), facts_(facts), errors_(errors) {}

  Parameter run() {
    const auto before = errors_.size();
    parameter_.name = spec_.name;
    parameter_.stage = spec_.stage;
    parameter_.unit = spec_.unit;
    parameter_.description = spec_.description;
    parameter_.active_if = spec_.active_if;
    if (!is_parameter_name(spec_.name)) {
      fail("/name",
           fmt::format("'{}' cannot be a name: letters, digits and underscores, perhaps dotted, and no word of "
                       "the expression language",
                       spec_.name));
    } else if (facts_.find(spec_.name) != nullptr) {
      fail("/name", fmt::format("'{}' is a fact about the machine", spec_.name));
    }
    const auto domain_errors = errors_.size();
    std::visit([this](const auto& domain) { resolve(domain); }, spec_.domain);
    if (errors_.size() == domain_errors) resolve_default();
    if (errors_.size() != before) make_placeholder();
    return std::move(parameter_);
  }

 private:
  void fail(std::string_view below, std::string message) {
    errors_.push_back({path_ + std::string(below), std::nullopt, std::move(message), ""});
  }

  void resolve(const BooleanSpec& /*domain*/) {
    parameter_.kind = Kind::Boolean;
    parameter_.values = {false, true};
  }

  void resolve(const OrdinalSpec& domain) { resolve_list(Kind::Ordinal, domain.values); }
  void resolve(const CategoricalSpec& domain) { resolve_list(Kind::Categorical, domain.values); }

  void resolve_list(Kind kind, const std::vector<Value>& values) {
    parameter_.kind = kind;
    parameter_.values = values;
    if (values.empty()) fail("/values", "the list is empty");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto* number = std::get_if<double>(&values[i]);
      if (number != nullptr && !std::isfinite(*number)) fail(fmt::format("/values/{}", i), "the number is not finite");
      for (std::size_t j = 0; j < i; ++j) {
        if (!equals(Operand::of(values[i]), Operand::of(values[j]))) continue;
        fail(fmt::format("/values/{}", i), fmt::format("{} stands in the list twice", to_text(values[i])));
        break;
      }
    }
  }

  void resolve(const IntegerRangeSpec& domain) {
    parameter_.kind = Kind::Integer;
    parameter_.logarithmic = domain.logarithmic;
    const auto lower = integer(domain.lower, "/range/0");
    const auto upper = integer(domain.upper, "/range/1");
    const auto step = integer(domain.step, "/step");
    if (!lower || !upper || !step) return;
    if (*step <= 0) return fail("/step", fmt::format("the step is {}, it must be at least 1", *step));
    if (*lower > *upper) return fail("/range", fmt::format("the range {} to {} is empty", *lower, *upper));
    if (domain.logarithmic && *lower <= 0) return fail("/range/0", "a logarithmic range begins above 0");
    const auto distance = static_cast<std::uint64_t>(*upper) - static_cast<std::uint64_t>(*lower);
    const auto count = distance / static_cast<std::uint64_t>(*step);
    if (count >= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("/range", "the range has more than 2⁶³ values");
    parameter_.lower = *lower;
    parameter_.step = *step;
    parameter_.steps = count + 1;
  }

  void resolve(const RealRangeSpec& domain) {
    parameter_.kind = Kind::Real;
    parameter_.logarithmic = domain.logarithmic;
    const auto lower = number(domain.lower, "/range/0");
    const auto upper = number(domain.upper, "/range/1");
    if (!lower || !upper) return;
    if (*lower > *upper) return fail("/range", fmt::format("the range {} to {} is empty", *lower, *upper));
    if (!std::isfinite(*upper - *lower)) return fail("/range", "the range is not finite");
    if (domain.logarithmic && *lower <= 0) return fail("/range/0", "a logarithmic range begins above 0");
    parameter_.real_lower = *lower;
    parameter_.real_upper = *upper;
  }

  /// The value of an expression over facts.
  std::optional<Value> fact_value(const std::string& text, std::string_view below) {
    const auto expression = Expression::parse(text, {}, facts_);
    const auto value = expression ? expression->evaluate({}) : std::unexpected(expression.error());
    if (value) return *value;
    const auto& error = value.error();
    errors_.push_back({path_ + std::string(below), error.position, error.message, error.excerpt(text)});
    return std::nullopt;
  }

  std::optional<Value> bound_value(const Bound& bound, std::string_view below) {
    if (const auto* whole = std::get_if<std::int64_t>(&bound)) return *whole;
    if (const auto* real = std::get_if<double>(&bound)) return *real;
    return fact_value(std::get<std::string>(bound), below);
  }

  std::optional<double> number(const Bound& bound, std::string_view below) {
    const auto value = bound_value(bound, below);
    if (!value) return std::nullopt;
    const auto operand = Operand::of(*value);
    if (operand.is_number() && !std::holds_alternative<bool>(*value)) return operand.number();
    fail(below, fmt::format("{} is no number", to_text(*value)));
    return std::nullopt;
  }

  std::optional<std::int64_t> integer(const Bound& bound, std::string_view below) {
    const auto value = bound_value(bound, below);
    if (!value) return std::nullopt;
    if (const auto whole = as_integer(*value)) return whole;
    fail(below, fmt::format("{} is no integer{}", to_text(*value),
                            std::holds_alternative<double>(*value) ? " (// divides integers)" : ""));
    return std::nullopt;
  }

  static std::optional<std::int64_t> as_integer(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    const auto* real = std::get_if<double>(&value);
    // 2⁶³ and above do not fit; the comparison is exact.
    if (real == nullptr || *real != std::floor(*real) || std::fabs(*real) >= 0x1p63) return std::nullopt;
    return static_cast<std::int64_t>(*real);
  }

  void resolve_default() {
    const auto is_text = [](const Value& value) { return std::holds_alternative<std::string>(value); };
    auto value = spec_.default_value;
    if (!value) {
      parameter_.default_value = parameter_.is_real() ? Value(parameter_.real_lower) : parameter_.value(0);
      return;
    }
    if (is_text(*value) && std::ranges::none_of(parameter_.values, is_text)) {
      value = fact_value(std::get<std::string>(*value), "/default");
      if (!value) return;
    }
    const auto fitted = fit(*value);
    if (!fitted)
      return fail("/default",
                  fmt::format("the default is {}, it must be {}", to_text(*value), parameter_.domain_text()));
    parameter_.default_value = *fitted;
  }

  /// The value of the domain that a default means: 1 is also 1.0 there.
  std::optional<Value> fit(const Value& value) const {
    if (parameter_.kind == Kind::Real) {
      const auto operand = Operand::of(value);
      if (!operand.is_number() || std::holds_alternative<bool>(value)) return std::nullopt;
      const double number = operand.number();
      if (!(number >= parameter_.real_lower && number <= parameter_.real_upper)) return std::nullopt;
      return parameter_.round(number);
    }
    if (parameter_.contains(value)) return value;
    if (parameter_.kind == Kind::Integer) {
      const auto whole = as_integer(value);
      return whole && parameter_.contains(*whole) ? std::optional<Value>(*whole) : std::nullopt;
    }
    if (std::holds_alternative<bool>(value)) return std::nullopt;
    for (const auto& each : parameter_.values)
      if (!std::holds_alternative<bool>(each) && equals(Operand::of(each), Operand::of(value))) return each;
    return std::nullopt;
  }

  void make_placeholder() {
    parameter_.kind = Kind::Categorical;
    parameter_.values = {false, std::int64_t{0}, 0.0, std::string()};
    parameter_.default_value = false;
  }

  const ParameterSpec& spec_;
  std::string path_;
  const Facts& facts_;
  std::vector<SpaceError>& errors_;
  Parameter parameter_;
};

/// Appends to `errors`, with paths below `path` ("/parameters/3"). A parameter that could not be resolved comes back
/// with one value of each type, so that expressions that mention it can be checked all the same.
Parameter resolve_parameter(const ParameterSpec& spec, const std::string& path, const Facts& facts,
                            std::vector<SpaceError>& errors) {
  return Resolver(spec, path, facts, errors).run();
}

class Creator {
 public:
  Creator(std::span<const ParameterSpec> parameters, std::span<const ConstraintSpec> constraints, const Facts& facts,
          const RowTableSpec* rows)
      : specs_(parameters), constraint_specs_(constraints), facts_(facts), rows_(rows) {}

  /// nullptr: there are errors.
  std::shared_ptr<const Space::Compiled> run() {
    resolve_parameters();
    resolve_activity();
    resolve_constraints();
    if (!order_activation() || !errors.empty()) return nullptr;
    if (rows_ != nullptr) {
      compiled_->rows = resolve_rows(*rows_, *compiled_, errors);
      if (!compiled_->rows) return nullptr;
    }
    check_default();
    if (!errors.empty()) return nullptr;
    return std::move(compiled_);
  }

  std::vector<SpaceError> errors;

 private:
  void fail(std::string path, std::string message) {
    errors.push_back({std::move(path), std::nullopt, std::move(message), ""});
  }

  std::optional<Expression> parse(const std::string& text, const std::string& path) {
    auto expression = Expression::parse(text, compiled_->parameters, facts_);
    if (expression) return std::move(*expression);
    const auto& error = expression.error();
    errors.push_back({path, error.position, error.message, error.excerpt(text)});
    return std::nullopt;
  }

  void resolve_parameters() {
    if (specs_.empty()) fail("/parameters", "a space needs at least one parameter");
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const auto path = fmt::format("/parameters/{}", i);
      compiled_->parameters.push_back(resolve_parameter(specs_[i], path, facts_, errors));
      if (!compiled_->by_name.emplace(specs_[i].name, i).second)
        fail(path + "/name", fmt::format("there is another parameter '{}'", specs_[i].name));
    }
  }

  void resolve_activity() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      compiled_->activity.emplace_back(std::nullopt);
      if (specs_[i].active_if.empty()) continue;
      const auto path = fmt::format("/parameters/{}/active_if", i);
      auto expression = parse(specs_[i].active_if, path);
      if (!expression) continue;
      for (const auto mentioned : expression->mentions()) {
        const auto& other = compiled_->parameters[mentioned];
        if (other.is_real()) {
          fail(path, fmt::format("'{}' is a real range; activity can depend on parameters with single values only",
                                 other.name));
        } else if (other.size() > Counting::kMaxRead) {
          fail(path, fmt::format("'{}' has more than {} values; activity cannot depend on it", other.name,
                                 Counting::kMaxRead));
        }
      }
      compiled_->activity.back().emplace(std::move(*expression));
    }
  }

  void resolve_constraints() {
    for (std::size_t i = 0; i < constraint_specs_.size(); ++i) {
      const auto& spec = constraint_specs_[i];
      const auto path = fmt::format("/constraints/{}", i);
      compiled_->constraints.push_back(spec);
      if (spec.because.empty()) fail(path + "/because", "a constraint needs a sentence that explains it");
      if (auto expression = parse(spec.require, path + "/require"))
        compiled_->requirements.emplace_back(std::move(*expression));
    }
  }

  /// Depth first, so that each parameter follows what its active_if mentions. False: there is a cycle.
  bool order_activation() {
    state_.assign(specs_.size(), State::Unseen);
    bool sound = true;
    for (std::size_t i = 0; i < specs_.size(); ++i) sound = visit(i) && sound;
    return sound;
  }

  enum class State { Unseen, Open, Done };

  bool visit(std::size_t parameter) {
    if (state_[parameter] == State::Done) return true;
    path_.push_back(parameter);
    if (state_[parameter] == State::Open) {
      report_cycle(parameter);
      path_.pop_back();
      return false;
    }
    state_[parameter] = State::Open;
    bool sound = true;
    if (const auto& activity = compiled_->activity[parameter])
      for (const auto mentioned : activity->expression().mentions()) sound = visit(mentioned) && sound;
    state_[parameter] = State::Done;
    compiled_->activation_order.push_back(parameter);
    path_.pop_back();
    return sound;
  }

  void report_cycle(std::size_t parameter) {
    std::string circle;
    for (auto at = std::ranges::find(path_, parameter); at != path_.end(); ++at)
      circle += (circle.empty() ? "" : " → ") + compiled_->parameters[*at].name;
    fail(fmt::format("/parameters/{}/active_if", parameter), "the conditions of activity form a circle: " + circle);
  }

  void check_default() {
    Assignment assignment(specs_.size());
    compiled_->settle_activity(assignment);
    compiled_->default_configuration = compiled_->configuration_of(assignment);
    for (std::size_t i = 0; i < compiled_->requirements.size(); ++i) {
      if (compiled_->satisfies(i, assignment)) continue;
      fail(fmt::format("/constraints/{}/require", i),
           fmt::format("the default configuration violates it: {}", compiled_->constraints[i].because));
    }
    if (!compiled_->satisfies_rows(assignment))
      fail("/rows", fmt::format("the default configuration is not among them: {}", compiled_->rows->because));
  }

  std::span<const ParameterSpec> specs_;
  std::span<const ConstraintSpec> constraint_specs_;
  const Facts& facts_;
  const RowTableSpec* rows_;
  std::shared_ptr<Space::Compiled> compiled_ = std::make_shared<Space::Compiled>();
  std::vector<State> state_;
  std::vector<std::size_t> path_;  // parameters on the way to the one that is visited
};

}  // namespace

std::string SpaceError::to_text() const {
  return path + ": " + message + (excerpt.empty() ? "" : "\n" + excerpt);
}

std::expected<Space, std::vector<SpaceError>> Space::create(std::span<const ParameterSpec> parameters,
                                                            std::span<const ConstraintSpec> constraints,
                                                            const Facts& facts, const RowTableSpec* rows) {
  Creator creator(parameters, constraints, facts, rows);
  auto compiled = creator.run();
  if (!compiled) return std::unexpected(std::move(creator.errors));
  return Space(std::move(compiled));
}

}  // namespace nocturne::space
