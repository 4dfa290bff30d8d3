#include "search/model/student.hpp"

#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cstddef>

namespace nocturne::search::model {
namespace {

struct CachedQuantile {
  double degrees = 0;
  double probability = 0;
  double quantile = 0;
};

/// More than the ends of the intervals that one model states, of two or three degrees.
constexpr std::size_t kRemembered = 16;

}  // namespace

double student_quantile(double degrees, double probability) {
  static thread_local std::array<CachedQuantile, kRemembered> known;
  static thread_local std::size_t next = 0;
  for (const CachedQuantile& each : known)
    if (each.degrees == degrees && each.probability == probability) return each.quantile;
  const double quantile = boost::math::quantile(boost::math::students_t_distribution<double>(degrees), probability);
  known[next] = {.degrees = degrees, .probability = probability, .quantile = quantile};
  next = (next + 1) % kRemembered;
  return quantile;
}

}  // namespace nocturne::search::model
