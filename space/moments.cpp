#include "space/moments.hpp"

#include <cmath>
#include <numeric>

namespace nocturne::space {

double Moments::sd() const {
  return count < 2 ? 0 : std::sqrt(squares / static_cast<double>(count - 1));
}

double Moments::squared_error() const {
  return count < 2 ? 0 : squares / static_cast<double>(count - 1) / static_cast<double>(count);
}

double Moments::standard_error() const {
  return std::sqrt(squared_error());
}

Moments moments_of(std::span<const double> values) {
  Moments moments{.count = values.size()};
  if (values.empty()) return moments;
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (const double value : values) moments.squares += (value - moments.mean) * (value - moments.mean);
  return moments;
}

}  // namespace nocturne::space
