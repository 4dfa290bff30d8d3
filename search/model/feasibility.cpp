#include "search/model/feasibility.hpp"

#include <algorithm>
#include <unordered_map>

#include "search/model/covariance.hpp"
#include "search/model/design.hpp"
#include "search/model/failure_rules.hpp"
#include "search/model/posterior.hpp"

namespace nocturne::search::model {
namespace {

constexpr std::size_t kCarriers = 256;  // trials that carry the model; of more: half failures, the latest of each
constexpr std::size_t kSlack = 32;      // trials over it before they are chosen again

Scales product_of_distances(std::size_t weights) {
  return {
      .weights = std::vector<double>(weights, 0), .pairs = 0, .local = 1, .noise = Feasibility::kRidge, .intercept = 0};
}

}  // namespace

struct Feasibility::State {
  explicit State(space::Lattice& lattice)
      : design(lattice, {}), scales(product_of_distances(design.weights())), points(lattice.width()), rules(lattice) {}

  void update();
  void choose_carriers();

  Design design;
  Posterior posterior{design};
  Scales scales;
  space::PointList points;
  std::vector<bool> worked;
  std::unordered_map<std::uint64_t, std::size_t> trial_of;
  std::size_t failures = 0;
  std::vector<std::size_t> carriers;
  std::size_t seen = 0;  // trials up to here were considered as carriers
  FailureRules rules;
  double prior = 1;
  bool stale = true;
};

Feasibility::Feasibility(space::Lattice& lattice) : state_(std::make_unique<State>(lattice)) {}
Feasibility::~Feasibility() = default;
Feasibility::Feasibility(Feasibility&&) noexcept = default;
Feasibility& Feasibility::operator=(Feasibility&&) noexcept = default;

void Feasibility::tell(space::Point point, bool worked) {
  auto& s = *state_;
  const auto [known, is_new] = s.trial_of.try_emplace(space::hash_of(point), s.points.size());
  if (is_new) {
    s.points.push_back(point);
    s.worked.push_back(worked);
    s.rules.tell(point, worked);
  } else {
    if (s.worked[known->second] == worked) return;
    if (!s.worked[known->second]) --s.failures;
    s.worked[known->second] = worked;
    s.rules.clear();
    for (std::size_t t = 0; t < s.points.size(); ++t) s.rules.tell(s.points[t], s.worked[t]);
  }
  if (!worked) ++s.failures;
  s.stale = true;
}

const std::vector<FailureRules::Rule>& Feasibility::rules() {
  return state_->rules.rules();
}

bool Feasibility::forbids(space::Point point) {
  return state_->failures > 0 && state_->rules.allows(point) < kForbidden;
}

std::size_t Feasibility::failures() const {
  return state_->failures;
}

void Feasibility::State::choose_carriers() {
  carriers.clear();
  const auto take = [&](bool wanted, std::size_t limit) {
    for (auto t = points.size(); t-- > 0 && carriers.size() < limit;)
      if (worked[t] == wanted) carriers.push_back(t);
  };
  take(false, kCarriers - std::min(points.size() - failures, kCarriers / 2));
  take(true, kCarriers);
  std::ranges::sort(carriers);
  design.truncate(0);
  posterior.clear();
  for (const auto t : carriers) design.append(points[t]);
  seen = points.size();
}

void Feasibility::State::update() {
  if (!stale) return;
  stale = false;
  if (carriers.size() + points.size() - seen > kCarriers + kSlack) choose_carriers();
  for (; seen < points.size(); ++seen) {
    carriers.push_back(seen);
    design.append(points[seen]);
  }
  posterior.extend(scales, std::vector<double>(carriers.size(), 1));
  prior = (static_cast<double>(points.size() - failures) + 2) / (static_cast<double>(points.size()) + 2.5);
  std::vector<double> residuals;
  for (const auto t : carriers) residuals.push_back((worked[t] ? 1 : 0) - prior);
  posterior.set_values(residuals);
}

double Feasibility::probability(space::Point point) {
  space::PointList one(point.size());
  one.push_back(point);
  std::vector<float> result;
  probabilities(one, result);
  return static_cast<double>(result[0]);
}

void Feasibility::probabilities(const space::PointList& points, std::vector<float>& result) {
  auto& s = *state_;
  result.assign(points.size(), 1);
  if (s.failures == 0) return;
  s.update();
  s.posterior.means(points, s.scales, result);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double likely = std::clamp(s.prior + static_cast<double>(result[i]), kFloor, 1.0);
    result[i] = static_cast<float>(likely * s.rules.allows(points[i]));
  }
}

}  // namespace nocturne::search::model
