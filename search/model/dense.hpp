#pragma once

/// The dense linear algebra of a fit: Cholesky factor, its inverse, the inverse of the matrix.
///
/// Written here because Eigen chooses its vector width when it is compiled, and the project is compiled for any x86:
/// with SSE2 a fit of 200 trials takes three times as long. Golub and Van Loan, "Matrix Computations", 4th edition,
/// sections 4.2.5 and 3.1; all loops run along rows (gaxpy form).

#include <cstddef>
#include <vector>

namespace nocturne::search::model {

/// Square, row-major, rows at a distance of `stride` (a multiple of four).
class SquareMatrix {
 public:
  /// Contents are unspecified after it.
  void resize(std::size_t size);
  /// Keeps the upper left; new places are 0.
  void grow(std::size_t size);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double* row(std::size_t i) { return data_.data() + i * stride_; }
  [[nodiscard]] const double* row(std::size_t i) const { return data_.data() + i * stride_; }

 private:
  std::size_t size_ = 0;
  std::size_t stride_ = 0;
  std::vector<double> data_;
};

/// Reads the upper triangle of a and overwrites it with U, Uᵀ U = a. False: not positive definite.
[[nodiscard]] bool factorise(SquareMatrix& a);
/// Writes the inverse of L = Uᵀ, lower triangular, to `inverse`; the rest of its rows is 0.
void invert_factor(const SquareMatrix& upper, SquareMatrix& inverse);
/// Writes the lower triangle of inverseᵀ inverse (of a⁻¹) to `result`.
void multiply_transposed(const SquareMatrix& inverse, SquareMatrix& result);

}  // namespace nocturne::search::model
