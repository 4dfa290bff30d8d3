#include "tuner/campaign/answer/expectations.hpp"

#include <chrono>

#include "tuner/campaign/kept/expectations_members.hpp"

namespace nocturne::tuner {

template <>
struct Members<Expectations> {
  static auto of(auto& it) {
    auto& [matters, continuing, without] = it;
    return std::tie(matters, continuing, without);
  }
};

namespace {

std::expected<Expectations, std::string> work_out(const db::Store& store, const Answer& answer) {
  const auto learned = learn_from(store, answer.campaign);
  if (!learned) return std::unexpected(learned.error());
  Expectations result{.matters = {}, .continuing = {}, .without = (*learned)->without};
  if (answer.best) result.matters = matters(**learned, answer.best->trial.configuration);
  result.continuing = continuing(**learned, std::chrono::hours(1));
  return result;
}

}  // namespace

Expectations expectations_of(const db::Store& store, const Answer& answer) {
  const std::string best = answer.best ? answer.best->trial.configuration.identity() : std::string();
  return kept_result<Expectations>(store, answer.campaign, "expectations", best,
                                   [&] { return work_out(store, answer); })
      .value_or(Expectations{});
}

}  // namespace nocturne::tuner
