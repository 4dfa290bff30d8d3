#include "search/model/dense.hpp"

#include <Eigen/Dense>
#include <catch2/catch_test_macros.hpp>

#include "space/random.hpp"

namespace nocturne::search::model {
namespace {

Eigen::MatrixXd positive_matrix(Eigen::Index size, std::uint64_t seed) {
  space::Random random(seed);
  Eigen::MatrixXd root(size, size);
  for (auto& each : root.reshaped()) each = random.unit() - 0.5;
  return root * root.transpose() + 0.01 * Eigen::MatrixXd::Identity(size, size);
}

SquareMatrix upper_of(const Eigen::MatrixXd& a) {
  SquareMatrix result;
  result.resize(static_cast<std::size_t>(a.rows()));
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = i; j < a.rows(); ++j) result.row(static_cast<std::size_t>(i))[j] = a(i, j);
  return result;
}

}  // namespace

TEST_CASE("factor, inverse factor and inverse agree with Eigen", "[model]") {
  for (const Eigen::Index size : {1, 2, 3, 5, 8, 31, 32, 33, 70}) {
    const auto a = positive_matrix(size, static_cast<std::uint64_t>(size));
    auto factor = upper_of(a);
    REQUIRE(factorise(factor));
    SquareMatrix inverse, precision;
    invert_factor(factor, inverse);
    multiply_transposed(inverse, precision);
    const Eigen::MatrixXd l = a.llt().matrixL();
    const Eigen::MatrixXd l_inverse = l.inverse();
    const Eigen::MatrixXd a_inverse = a.inverse();
    for (Eigen::Index i = 0; i < size; ++i) {
      for (Eigen::Index j = 0; j <= i; ++j) {
        const auto row = static_cast<std::size_t>(i);
        CHECK(std::abs(factor.row(static_cast<std::size_t>(j))[i] - l(i, j)) < 1e-10);
        CHECK(std::abs(inverse.row(row)[j] - l_inverse(i, j)) < 1e-8 * (1 + l_inverse.cwiseAbs().maxCoeff()));
        CHECK(std::abs(precision.row(row)[j] - a_inverse(i, j)) < 1e-8 * (1 + a_inverse.cwiseAbs().maxCoeff()));
      }
    }
  }
}

TEST_CASE("a matrix that is not positive definite is refused", "[model]") {
  Eigen::MatrixXd a = Eigen::MatrixXd::Identity(5, 5);
  a(3, 3) = -1;
  auto factor = upper_of(a);
  CHECK_FALSE(factorise(factor));
}

}  // namespace nocturne::search::model
