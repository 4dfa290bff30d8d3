#include "search/model/dense.hpp"

#include <algorithm>
#include <cmath>

#include "search/model/dispatch.hpp"

namespace nocturne::search::model {
namespace {

// target[0, length) += factors[j] * rows[j], four rows at a time: one load and one store of the target for four.
NOCTURNE_INLINE void add_rows_body(double* target, std::size_t length, const double* const* rows, const double* factors,
                                   std::size_t count) {
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const double* __restrict a = rows[j];
    const double* __restrict b = rows[j + 1];
    const double* __restrict c = rows[j + 2];
    const double* __restrict d = rows[j + 3];
    double* __restrict t = target;
    const double fa = factors[j], fb = factors[j + 1], fc = factors[j + 2], fd = factors[j + 3];
    for (std::size_t i = 0; i < length; ++i) t[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
  }
  for (; j < count; ++j) {
    const double* __restrict a = rows[j];
    double* __restrict t = target;
    const double fa = factors[j];
    for (std::size_t i = 0; i < length; ++i) t[i] += fa * a[i];
  }
}

void add_rows_plain(double* target, std::size_t length, const double* const* rows, const double* factors,
                    std::size_t count) {
  add_rows_body(target, length, rows, factors, count);
}

NOCTURNE_AVX2 void add_rows_avx2(double* target, std::size_t length, const double* const* rows, const double* factors,
                                 std::size_t count) {
  add_rows_body(target, length, rows, factors, count);
}

void add_rows(double* target, std::size_t length, const std::vector<const double*>& rows,
              const std::vector<double>& factors) {
  (has_avx2() ? add_rows_avx2 : add_rows_plain)(target, length, rows.data(), factors.data(), rows.size());
}

}  // namespace

void SquareMatrix::resize(std::size_t size) {
  size_ = size;
  if (size <= stride_ && data_.size() >= size * stride_) return;
  stride_ = (size + 3) / 4 * 4;
  data_.assign(size * stride_, 0);
}

void SquareMatrix::grow(std::size_t size) {
  if (size > stride_ || data_.size() < size * stride_) {
    const auto stride = (size + size / 2 + 16) / 4 * 4;
    std::vector<double> larger(stride * stride);
    for (std::size_t i = 0; i < size_; ++i) std::copy_n(row(i), size_, larger.data() + i * stride);
    data_ = std::move(larger);
    stride_ = stride;
  } else {
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = i < size_ ? size_ : 0; j < size; ++j) row(i)[j] = 0;
  }
  size_ = size;
}

bool factorise(SquareMatrix& a) {
  const auto n = a.size();
  std::vector<const double*> rows;
  std::vector<double> factors;
  for (std::size_t i = 0; i < n; ++i) {
    rows.clear();
    factors.clear();
    for (std::size_t k = 0; k < i; ++k) {
      rows.push_back(a.row(k) + i);
      factors.push_back(-a.row(k)[i]);
    }
    double* row = a.row(i) + i;
    add_rows(row, n - i, rows, factors);
    if (!(row[0] > 0)) return false;
    const double scale = 1 / std::sqrt(row[0]);
    for (std::size_t j = 0; j < n - i; ++j) row[j] *= scale;
  }
  return true;
}

void invert_factor(const SquareMatrix& upper, SquareMatrix& inverse) {
  const auto n = upper.size();
  inverse.resize(n);
  std::vector<const double*> rows;
  std::vector<double> factors;
  for (std::size_t k = 0; k < n; ++k) {
    double* row = inverse.row(k);
    std::fill_n(row, n, 0.0);
    rows.clear();
    factors.clear();
    // Rows of the inverse end on their diagonal: in pieces of 32 rows the zeros behind it cost little.
    for (std::size_t begin = 0; begin < k; begin += 32) {
      const auto end = std::min(begin + 32, k);
      rows.clear();
      factors.clear();
      for (auto l = begin; l < end; ++l) {
        rows.push_back(inverse.row(l));
        factors.push_back(-upper.row(l)[k]);
      }
      add_rows(row, end, rows, factors);
    }
    const double scale = 1 / upper.row(k)[k];
    for (std::size_t l = 0; l < k; ++l) row[l] *= scale;
    row[k] = scale;
  }
}

void multiply_transposed(const SquareMatrix& inverse, SquareMatrix& result) {
  const auto n = inverse.size();
  result.resize(n);
  std::vector<const double*> rows;
  std::vector<double> factors;
  for (std::size_t s = 0; s < n; ++s) {
    rows.clear();
    factors.clear();
    for (auto k = s; k < n; ++k) {
      rows.push_back(inverse.row(k));
      factors.push_back(inverse.row(k)[s]);
    }
    std::fill_n(result.row(s), s + 1, 0.0);
    add_rows(result.row(s), s + 1, rows, factors);
  }
}

}  // namespace nocturne::search::model
