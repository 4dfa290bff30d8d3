#include "measure/comparison/planned_looks.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/roots.hpp>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>

#include "space/normal_distribution.hpp"

namespace nocturne::measure {
namespace {

constexpr double kGrowth = 4.0 / 3;  // of the pairs from one look to the next
constexpr int kCells = 400;          // of the interval in which the comparison goes on; even
constexpr int kComparisons = 100'000;
constexpr int kFewLooks = 10;  // so few that one after each costs little

/// The score process S (variance 1 a unit of information) of those comparisons that no look has ended so far: its
/// density at the midpoints of cells of equal width.
class UndecidedDensity {
 public:
  /// Probability that the look at `information` finds |S| ≥ limit, having gone on until now.
  [[nodiscard]] double crosses(double information, double limit) const {
    if (density_.empty()) return 2 * space::normal_below(-limit / std::sqrt(information));
    const double step = std::sqrt(information - information_);
    double sum = 0;
    for (std::size_t i = 0; i < density_.size(); ++i) {
      const double s = midpoint(i);
      sum +=
          density_[i] * width_ * (space::normal_below((-limit - s) / step) + space::normal_below((s - limit) / step));
    }
    return sum;
  }

  /// Goes past a look that stops at |S| ≥ limit.
  void pass(double information, double limit) {
    std::vector<double> next(kCells);
    const double next_width = 2 * limit / kCells;
    const double step = std::sqrt(information - information_);
    for (std::size_t j = 0; j < next.size() / 2; ++j) {  // the other half is its mirror image
      const double s = -limit + (static_cast<double>(j) + 0.5) * next_width;
      if (density_.empty()) next[j] = space::normal_density(s / step) / step;
      for (std::size_t i = 0; i < density_.size(); ++i)
        next[j] += density_[i] * width_ * space::normal_density((s - midpoint(i)) / step) / step;
      next[next.size() - 1 - j] = next[j];
    }
    density_ = std::move(next);
    width_ = next_width;
    limit_ = limit;
    information_ = information;
  }

 private:
  [[nodiscard]] double midpoint(std::size_t i) const { return -limit_ + (static_cast<double>(i) + 0.5) * width_; }
  std::vector<double> density_;
  double width_ = 0, limit_ = 0, information_ = 0;
};

std::vector<int> numbers_of_pairs(int first, int most) {
  std::vector<int> numbers = {first};
  while (numbers.back() < most)
    numbers.push_back(std::max(numbers.back() + 1, static_cast<int>(std::lround(numbers.back() * kGrowth))));
  numbers.back() = most;
  // The last two lie far enough apart for the last one to be worth its error.
  if (numbers.size() > 2 && most - numbers[numbers.size() - 2] < 2) numbers.erase(numbers.end() - 2);
  return numbers;
}

/// Looks that spend `error` where the scatter of pairs were known.
std::vector<Look> spend(const std::vector<int>& numbers, double error) {
  std::vector<Look> looks;
  UndecidedDensity undecided;
  double spent = 0;
  const int most = numbers.back();
  for (const int pairs : numbers) {
    const double information = static_cast<double>(pairs) / most;
    const double allowed = error * information - spent;
    spent = error * information;
    const double scale = std::sqrt(information);
    const auto excess = [&](double z) { return undecided.crosses(information, z * scale) - allowed; };
    std::uintmax_t iterations = 100;
    const auto [low, high] =
        boost::math::tools::toms748_solve(excess, 0.1, 8.0, boost::math::tools::eps_tolerance<double>(30), iterations);
    const double critical = (low + high) / 2;
    looks.push_back({.pairs = pairs, .confidence = 1 - 2 * space::normal_below(-critical)});
    undecided.pass(information, critical * scale);
  }
  return looks;
}

/// How often one of the looks finds a difference between equal sides, by Student's t. Always the same sample.
double false_alarms(const std::vector<Look>& looks) {
  std::vector<double> limits;
  for (const Look& look : looks) limits.push_back(student_critical(look.pairs, look.confidence));
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): a plan is the same every time
  std::normal_distribution<double> unit;
  std::vector<std::chi_squared_distribution<double>> within;  // squares of the pairs of a look about their own mean
  for (std::size_t k = 0; k < looks.size(); ++k)
    within.emplace_back(std::max(1, looks[k].pairs - (k == 0 ? 0 : looks[k - 1].pairs) - 1));
  int alarms = 0;
  for (int comparison = 0; comparison < kComparisons; ++comparison) {
    double sum = 0, squares = 0;
    int pairs = 0;
    for (std::size_t k = 0; k < looks.size(); ++k) {
      const int more = looks[k].pairs - std::exchange(pairs, looks[k].pairs);
      const double mean = unit(random);  // in standard errors
      sum += mean * std::sqrt(static_cast<double>(more));
      squares += mean * mean + (more > 1 ? within[k](random) : 0);
      const double variance = (squares - sum * sum / pairs) / (pairs - 1);
      if (sum * sum >= limits[k] * limits[k] * variance * pairs) {
        ++alarms;
        break;
      }
    }
  }
  return static_cast<double>(alarms) / kComparisons;
}

}  // namespace

std::vector<Look> plan_looks_known_scatter(int first, int most, double error) {
  assert(first >= 1 && first <= most && error > 0 && error < 1);
  std::vector<int> numbers = numbers_of_pairs(first, most);
  if (most - first < kFewLooks) {  // one after each
    numbers.clear();
    for (int number = first; number <= most; ++number) numbers.push_back(number);
  }
  return spend(numbers, error);
}

double normal_critical(double confidence) {
  static const boost::math::normal_distribution<double> normal;
  return boost::math::quantile(normal, 0.5 + confidence / 2);
}

double student_critical(int count, double confidence) {
  assert(count >= 2);
  const boost::math::students_t_distribution<double> student(count - 1);
  return boost::math::quantile(student, 0.5 + confidence / 2);
}

std::vector<Look> plan_looks(int first, int most, double error) {
  assert(first >= 2 && first <= most && error > 0 && error < 1);
  const std::vector<int> numbers = numbers_of_pairs(first, most);
  std::vector<Look> looks = spend(numbers, error);
  if (looks.size() == 1) return looks;  // exact
  const double found = false_alarms(looks);
  if (found > error) looks = spend(numbers, error * error / found);
  return looks;
}

double confidence_after(std::int64_t pairs, std::span<const Look> plan, double error) {
  assert(pairs >= 2 && !plan.empty());
  if (pairs < plan.front().pairs)
    return plan_looks(static_cast<int>(pairs), plan.back().pairs, error).front().confidence;
  const auto next = std::ranges::find_if(plan, [&](const Look& look) { return look.pairs >= pairs; });
  if (next == plan.end()) return plan.back().confidence;
  if (next == plan.begin() || next->pairs == pairs) return next->confidence;
  return std::max(next->confidence, std::prev(next)->confidence);
}

}  // namespace nocturne::measure
