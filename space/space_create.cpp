// Space::create(): everything that is checked before a space exists.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "space/counting/counting.hpp"
#include "space/counting/row_table_resolver.hpp"
#include "space/model.hpp"
#include "space/parameter_resolver.hpp"
#include "space/space.hpp"

namespace nocturne::space {
namespace {

class Creator {
 public:
  Creator(std::span<const ParameterSpec> parameters, std::span<const ConstraintSpec> constraints, const Facts& facts,
          const RowTableSpec* rows)
      : specs_(parameters), constraint_specs_(constraints), facts_(facts), rows_(rows) {}

  /// nullptr: there are errors.
  std::shared_ptr<const Space::Model> run() {
    resolve_parameters();
    resolve_activity();
    resolve_constraints();
    if (!order_activation() || !errors.empty()) return nullptr;
    if (rows_ != nullptr) {
      model_->rows = resolve_rows(*rows_, *model_, errors);
      if (!model_->rows) return nullptr;
    }
    check_default();
    if (!errors.empty()) return nullptr;
    return std::move(model_);
  }

  std::vector<SpaceError> errors;

 private:
  void fail(std::string path, std::string message) {
    errors.push_back({std::move(path), std::nullopt, std::move(message), ""});
  }

  std::optional<Expression> parse(const std::string& text, const std::string& path) {
    auto expression = Expression::parse(text, model_->parameters, facts_);
    if (expression) return std::move(*expression);
    const auto& error = expression.error();
    errors.push_back({path, error.position, error.message, error.excerpt(text)});
    return std::nullopt;
  }

  void resolve_parameters() {
    if (specs_.empty()) fail("/parameters", "a space needs at least one parameter");
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const auto path = fmt::format("/parameters/{}", i);
      model_->parameters.push_back(resolve_parameter(specs_[i], path, facts_, errors));
      if (!model_->by_name.emplace(specs_[i].name, i).second) {
        fail(path + "/name", fmt::format("there is another parameter '{}'", specs_[i].name));
      }
    }
  }

  void resolve_activity() {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      model_->activity.emplace_back(std::nullopt);
      if (specs_[i].active_if.empty()) continue;
      const auto path = fmt::format("/parameters/{}/active_if", i);
      auto expression = parse(specs_[i].active_if, path);
      if (!expression) continue;
      for (const auto mentioned : expression->mentions()) {
        const auto& other = model_->parameters[mentioned];
        if (other.is_real()) {
          fail(path, fmt::format("'{}' is a real range; activity can depend on parameters with single values only",
                                 other.name));
        } else if (other.size() > Counting::kMaxRead) {
          fail(path, fmt::format("'{}' has more than {} values; activity cannot depend on it", other.name,
                                 Counting::kMaxRead));
        }
      }
      model_->activity.back().emplace(std::move(*expression));
    }
  }

  void resolve_constraints() {
    for (std::size_t i = 0; i < constraint_specs_.size(); ++i) {
      const auto& spec = constraint_specs_[i];
      const auto path = fmt::format("/constraints/{}", i);
      model_->constraints.push_back(spec);
      if (spec.because.empty()) fail(path + "/because", "a constraint needs a sentence that explains it");
      if (auto expression = parse(spec.require, path + "/require")) {
        model_->requirements.emplace_back(std::move(*expression));
      }
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
    if (const auto& activity = model_->activity[parameter]) {
      for (const auto mentioned : activity->expression().mentions()) sound = visit(mentioned) && sound;
    }
    state_[parameter] = State::Done;
    model_->activation_order.push_back(parameter);
    path_.pop_back();
    return sound;
  }

  void report_cycle(std::size_t parameter) {
    std::string circle;
    for (auto at = std::ranges::find(path_, parameter); at != path_.end(); ++at) {
      circle += (circle.empty() ? "" : " → ") + model_->parameters[*at].name;
    }
    fail(fmt::format("/parameters/{}/active_if", parameter), "the conditions of activity form a circle: " + circle);
  }

  void check_default() {
    Assignment assignment(specs_.size());
    model_->settle_activity(assignment);
    model_->default_configuration = model_->configuration_of(assignment);
    for (std::size_t i = 0; i < model_->requirements.size(); ++i) {
      if (model_->satisfies(i, assignment)) continue;
      fail(fmt::format("/constraints/{}/require", i),
           fmt::format("the default configuration violates it: {}", model_->constraints[i].because));
    }
    if (!model_->satisfies_rows(assignment))
      fail("/rows", fmt::format("the default configuration is not among them: {}", model_->rows->because));
  }

  std::span<const ParameterSpec> specs_;
  std::span<const ConstraintSpec> constraint_specs_;
  const Facts& facts_;
  const RowTableSpec* rows_;
  std::shared_ptr<Space::Model> model_ = std::make_shared<Space::Model>();
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
  auto model = creator.run();
  if (!model) return std::unexpected(std::move(creator.errors));
  return Space(std::move(model));
}

}  // namespace nocturne::space
