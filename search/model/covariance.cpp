#include "search/model/covariance.hpp"

#include "search/model/dispatch.hpp"

namespace nocturne::search::model {
namespace {

// Eight floats; without AVX the compiler makes two of four of them.
using Lanes = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr std::size_t kLanes = 8;

NOCTURNE_INLINE const Lanes& lanes(const float* at) {
  return *reinterpret_cast<const Lanes*>(at);
}
NOCTURNE_INLINE Lanes& lanes(float* at) {  // NOLINT(readability-non-const-parameter): written through the result
  return *reinterpret_cast<Lanes*>(at);
}

struct Parts {
  float* sum;
  float* pairs;
  float* product;
};

struct Mixture {
  float intercept, pairs, local;
};

template <class Store>
NOCTURNE_INLINE void combine(const PointTerms& point, std::size_t length, Store store) {
  const Term* const terms = point.terms.data();
  const auto count = point.terms.size();
  const float* const* const closeness = point.closeness.data();
  const auto close_count = point.closeness.size();
  for (std::size_t t = 0; t < length; t += kLanes) {
    Lanes sum{}, squares{};
    for (std::size_t i = 0; i < count; ++i) {
      const Lanes a = lanes(terms[i].row + t) * terms[i].weight;
      sum += a;
      squares += a * a;
    }
    Lanes product = Lanes{} + 1.0F;
    for (std::size_t i = 0; i < close_count; ++i) product *= lanes(closeness[i] + t);
    store(t, sum, (sum * sum - squares) * 0.5F, product);
  }
}

NOCTURNE_INLINE void row_body(const PointTerms& point, const Mixture& mixture, std::size_t length, float* result) {
  combine(point, length,
          [&](std::size_t t, const Lanes& sum, const Lanes& pairs, const Lanes& product)
              __attribute__((always_inline)) {
                lanes(result + t) = sum + mixture.intercept + pairs * mixture.pairs + product * mixture.local;
              });
}

NOCTURNE_INLINE void parts_body(const PointTerms& point, std::size_t length, const Parts& parts) {
  combine(point, length,
          [&](std::size_t t, const Lanes& sum, const Lanes& pairs, const Lanes& product)
              __attribute__((always_inline)) {
                lanes(parts.sum + t) = sum;
                lanes(parts.pairs + t) = pairs;
                lanes(parts.product + t) = product;
              });
}

NOCTURNE_INLINE void sums_body(const PointTerms& point, std::size_t length, const float* first, const float* second,
                               double* sums) {
  for (std::size_t i = 0; i < point.terms.size(); ++i) {
    const auto& term = point.terms[i];
    Lanes total{};
    for (std::size_t t = 0; t < length; t += kLanes) {
      const Lanes a = lanes(term.row + t) * term.weight;
      total += a * (lanes(first + t) + lanes(second + t) * a);
    }
    double sum = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(total[lane]);
    sums[i] += sum;
  }
}

// kRows rows of the inverse for kBlock candidates: the covariances are loaded once for kRows.
template <std::size_t kRows>
NOCTURNE_INLINE void rows_of_block(const float* inverse, std::size_t stride, std::size_t length, const float* k,
                                   Lanes& low, Lanes& high) {
  Lanes sums[kRows][2] = {};
  for (std::size_t t = 0; t < length; ++t) {
    const Lanes a = lanes(k + t * kBlock);
    const Lanes b = lanes(k + t * kBlock + kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const float factor = inverse[r * stride + t];
      sums[r][0] += a * factor;
      sums[r][1] += b * factor;
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    low += sums[r][0] * sums[r][0];
    high += sums[r][1] * sums[r][1];
  }
}

NOCTURNE_INLINE void block_body(const float* inverse, std::size_t stride, std::size_t begin, std::size_t size,
                                const float* alpha, const float* k, float* mean, float* explained) {
  constexpr std::size_t kRows = 4;
  Lanes low = lanes(explained), high = lanes(explained + kLanes), mean_low{}, mean_high{};
  std::size_t j = begin;
  for (; j + kRows <= size; j += kRows) rows_of_block<kRows>(inverse + j * stride, stride, j + kRows, k, low, high);
  for (; j < size; ++j) rows_of_block<1>(inverse + j * stride, stride, j + 1, k, low, high);
  for (std::size_t t = 0; t < size; ++t) {
    mean_low += lanes(k + t * kBlock) * alpha[t];
    mean_high += lanes(k + t * kBlock + kLanes) * alpha[t];
  }
  lanes(mean) = mean_low;
  lanes(mean + kLanes) = mean_high;
  lanes(explained) = low;
  lanes(explained + kLanes) = high;
}

void row_plain(const PointTerms& point, const Mixture& mixture, std::size_t length, float* result) {
  row_body(point, mixture, length, result);
}
NOCTURNE_AVX2 void row_avx2(const PointTerms& point, const Mixture& mixture, std::size_t length, float* result) {
  row_body(point, mixture, length, result);
}
void parts_plain(const PointTerms& point, std::size_t length, const Parts& parts) {
  parts_body(point, length, parts);
}
NOCTURNE_AVX2 void parts_avx2(const PointTerms& point, std::size_t length, const Parts& parts) {
  parts_body(point, length, parts);
}
void sums_plain(const PointTerms& point, std::size_t length, const float* first, const float* second, double* sums) {
  sums_body(point, length, first, second, sums);
}
NOCTURNE_AVX2 void sums_avx2(const PointTerms& point, std::size_t length, const float* first, const float* second,
                             double* sums) {
  sums_body(point, length, first, second, sums);
}
void block_plain(const float* inverse, std::size_t stride, std::size_t begin, std::size_t size, const float* alpha,
                 const float* k, float* mean, float* explained) {
  block_body(inverse, stride, begin, size, alpha, k, mean, explained);
}
NOCTURNE_AVX2 void block_avx2(const float* inverse, std::size_t stride, std::size_t begin, std::size_t size,
                              const float* alpha, const float* k, float* mean, float* explained) {
  block_body(inverse, stride, begin, size, alpha, k, mean, explained);
}

}  // namespace

void covariance_row(const PointTerms& point, const Scales& scales, std::size_t length, float* result) {
  const Mixture mixture{.intercept = static_cast<float>(scales.intercept),
                        .pairs = static_cast<float>(scales.pairs),
                        .local = static_cast<float>(scales.local)};
  (has_avx2() ? row_avx2 : row_plain)(point, mixture, length, result);
}

void covariance_parts(const PointTerms& point, std::size_t length, float* sum, float* pairs, float* product) {
  const Parts parts{.sum = sum, .pairs = pairs, .product = product};
  (has_avx2() ? parts_avx2 : parts_plain)(point, length, parts);
}

void term_sums(const PointTerms& point, std::size_t length, const float* first, const float* second, double* sums) {
  (has_avx2() ? sums_avx2 : sums_plain)(point, length, first, second, sums);
}

void explain_block(const float* inverse, std::size_t stride, std::size_t begin, std::size_t size, const float* alpha,
                   const float* k, float* mean, float* explained) {
  (has_avx2() ? block_avx2 : block_plain)(inverse, stride, begin, size, alpha, k, mean, explained);
}

}  // namespace nocturne::search::model
