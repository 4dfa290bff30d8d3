#include "space/encoding.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/space/build.hpp"
#include "tests/space/random_space.hpp"

namespace nocturne::space {

using namespace test;

TEST_CASE("each kind of parameter has the columns the header promises", "[encoding]") {
  ParameterSpec batch = integers("batch", 16, 1024);
  batch.domain = IntegerRangeSpec{.lower = std::int64_t{16}, .upper = std::int64_t{1024}, .logarithmic = true};
  const Encoding encoding(
      make_space({choices("compiler", {std::string("g++"), std::string("clang++")}),
                  boolean("lto", "compiler == 'g++'"), with_default(batch, std::int64_t{128}),
                  with_default(ordered("level", {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}), std::int64_t{2}),
                  with_default(reals("rate", 0, 4), 1.0)}));
  std::string names;
  for (const auto& column : encoding.columns()) names += column.name + "|";
  CHECK(names == "compiler=g++|compiler=clang++|lto active|lto|batch|level|rate|");
  Configuration configuration;
  configuration.set("compiler", std::string("clang++"));
  configuration.set("batch", std::int64_t{128});
  configuration.set("level", std::int64_t{2});
  configuration.set("rate", 1.0);
  const auto vector = encoding.encode(configuration);
  CHECK(vector == (Eigen::VectorXd(7) << 0, 1, 0, 0, 0.5, 0.5, 0.25).finished());
  CHECK(encoding.decode(vector) == configuration);
}

TEST_CASE("decoding an encoded configuration gives it back", "[encoding]") {
  std::uint64_t seed = 100;
  for (int round = 0; round < 60; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    const Encoding encoding(space);
    space.for_each([&](const Configuration& each) {
      const auto vector = encoding.encode(each);
      CHECK(encoding.decode(vector) == each);
      CHECK(vector.minCoeff() >= 0);
      CHECK(vector.maxCoeff() <= 1);
      return true;
    });
  }
}

TEST_CASE("a logarithmic range may be wider than what one number divided by another can say", "[encoding]") {
  const auto space = make_space({with_default(reals("a", 1e-200, 1e200, true), 1.0)});
  const auto& parameter = space.parameters()[0];
  CHECK(parameter.real_from_unit(0) == 1e-200);
  CHECK(std::abs(parameter.real_from_unit(0.5) - 1) < 1e-6);
  CHECK(std::abs(parameter.real_from_unit(0.75) / 1e100 - 1) < 1e-6);
  CHECK(parameter.real_from_unit(1) == 1e200);
  CHECK(std::abs(parameter.to_unit(1) - 0.5) < 1e-12);
  CHECK(parameter.to_unit(1e200) == 1);
}

TEST_CASE("real values survive encoding, JSON and rounding", "[encoding]") {
  const auto space = make_space({reals("a", -3, 5), reals("b", 1e-6, 1e3, true), reals("c", 1e6, 1e6 + 1),
                                 reals("d", 0, 1e12), reals("e", 7, 7)});
  const Encoding encoding(space);
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    const auto drawn = space.sample(random).value();
    REQUIRE(space.contains(drawn));
    CHECK(encoding.decode(encoding.encode(drawn)) == drawn);
    CHECK(Configuration::from_json(nlohmann::json::parse(drawn.canonical())).value() == drawn);
    CHECK(space.normalise(drawn) == drawn);
  }
}

TEST_CASE("long logarithmic integer ranges decode to the number they came from", "[encoding]") {
  ParameterSpec spec = integers("n", 1, 2);
  spec.domain = IntegerRangeSpec{
      .lower = std::int64_t{3}, .upper = std::int64_t{3'000'000}, .step = std::int64_t{3}, .logarithmic = true};
  const Encoding encoding(make_space({spec}));
  for (std::int64_t n = 3; n <= 3'000'000; n += std::int64_t{3} * 997) {
    Configuration configuration;
    configuration.set("n", n);
    CHECK(encoding.decode(encoding.encode(configuration)) == configuration);
  }
}

TEST_CASE("the end of a range that a double cannot count is its last value, no value beyond it", "[encoding]") {
  for (const bool logarithmic : {false, true}) {
    auto long_range = integers("n", 1, 0);
    long_range.domain =
        IntegerRangeSpec{.lower = std::int64_t{1}, .upper = INT64_MAX - std::int64_t{2}, .logarithmic = logarithmic};
    const Encoding encoding(make_space({long_range}));
    const auto decoded = encoding.decode(Eigen::VectorXd::Ones(1));
    CHECK(std::get<std::int64_t>(*decoded.find("n")) == INT64_MAX - 2);
  }
}

TEST_CASE("positions that are no exact fractions decode to the nearest value", "[encoding]") {
  const Encoding encoding(make_space({integers("n", 0, 98)}));  // 1 / 98 * 98 and others come out below their integer
  for (std::int64_t n = 0; n <= 98; ++n) {
    Configuration configuration;
    configuration.set("n", n);
    CHECK(encoding.decode(encoding.encode(configuration)) == configuration);
  }
  CHECK(encoding.decode(Eigen::VectorXd::Constant(1, 0.6 / 98)).canonical() == R"({"n":1})");
}

TEST_CASE("any vector decodes to values of the domains", "[encoding]") {
  const auto space = make_space(
      {choices("c", {std::string("x"), std::string("y")}), integers("n", 1, 5, "c == 'y'"), reals("r", 0, 1)});
  const Encoding encoding(space);
  const Eigen::VectorXd wild = (Eigen::VectorXd(5) << -3, 8, 1e300, 7, -2).finished();
  CHECK(encoding.decode(wild).canonical() == R"({"c":"y","n":5,"r":0.0})");
  const Eigen::VectorXd nothing = Eigen::VectorXd::Constant(5, std::numeric_limits<double>::quiet_NaN());
  CHECK(space.contains(encoding.decode(nothing)));
}

}  // namespace nocturne::space
