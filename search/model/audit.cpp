#include "search/model/audit.hpp"

#include <cmath>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

namespace nocturne::search::model {
namespace {

constexpr double kLargestRate = 0.5;

}  // namespace

ShareInterval clopper_pearson(std::size_t hits, std::size_t tries, double confidence) {
  if (tries == 0) return {};
  using boost::math::binomial;
  const auto n = static_cast<double>(tries);
  const auto k = static_cast<double>(hits);
  const double tail = (1 - confidence) / 2;
  return {.lower = binomial::find_lower_bound_on_p(n, k, tail), .upper = binomial::find_upper_bound_on_p(n, k, tail)};
}

double Audit::evidence() const {
  const auto k = static_cast<double>(counted_failures_);
  const auto n = static_cast<double>(counted_);
  const double a = k + 1;
  const double b = n - k + 1;
  // The complements where nearly all of the mass lies below both rates: there both are 1, and their difference is
  // noise.
  const bool few = k < kNominal * n;
  const double mass = few ? boost::math::ibetac(a, b, kNominal) - boost::math::ibetac(a, b, kLargestRate)
                          : boost::math::ibeta(a, b, kLargestRate) - boost::math::ibeta(a, b, kNominal);
  const double log_beta = boost::math::lgamma(a) + boost::math::lgamma(b) - boost::math::lgamma(a + b);
  const double log_null = k * std::log(kNominal) + (n - k) * std::log1p(-kNominal);
  return mass * std::exp(log_beta - log_null) / (kLargestRate - kNominal);
}

void Audit::tell(bool beat_its_bound, bool beat_the_incumbent) {
  ++audits_;
  ++counted_;
  failures_ += beat_its_bound;
  counted_failures_ += beat_its_bound;
  misses_ += beat_the_incumbent;
  // alpha/2 + alpha/4 + … = alpha.
  const double alpha = kAlpha * std::exp2(-static_cast<double>(alarms_ + 1));
  if (evidence() < 1 / alpha) return;
  ++alarms_;
  widening_ *= kWider;
  counted_ = counted_failures_ = 0;
}

ShareInterval Audit::miss_rate(double confidence) const {
  return clopper_pearson(misses_, audits_, confidence);
}

}  // namespace nocturne::search::model
