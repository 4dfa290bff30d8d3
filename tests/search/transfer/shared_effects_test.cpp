#include "search/transfer/shared_effects.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/space/build.hpp"

namespace nocturne::search::transfer {

using namespace space::test;

namespace {

space::Space five_parameters() {
  std::vector<space::ParameterSpec> specs;
  for (int i = 0; i < 2; ++i) specs.push_back(integers("n" + std::to_string(i), 0, 4));
  for (int i = 0; i < 3; ++i)
    specs.push_back(choices("c" + std::to_string(i), {std::string("x"), std::string("y"), std::string("z")}));
  return make_space(specs);
}

/// Main effects of each level, drawn; those of one machine deviate from the common ones.
class Machines {
 public:
  /// `own`: sd of a machine's deviations against 1 of the common effects.
  Machines(const space::Lattice& lattice, double own, std::uint64_t seed) : own_(own), random_(seed) {
    common_ = drawn(lattice, 0.2);
    for (int machine = 0; machine < kMachines; ++machine) {
      deviations_.push_back(drawn(lattice, 0.2 * own_));
      levels_.push_back(normal_(random_));
    }
  }

  static constexpr int kMachines = 4;

  [[nodiscard]] double truth(int machine, space::Point point) const {
    const auto place = static_cast<std::size_t>(machine);
    double sum = levels_[place];
    for (std::size_t i = 0; i < point.size(); ++i) sum += common_[i][point[i]] + deviations_[place][i][point[i]];
    return sum;
  }
  [[nodiscard]] static Place place(int machine) { return {.machine = std::to_string(machine), .network = "mnist"}; }

  /// `count` measurements of each of these machines, with noise.
  std::vector<Measurement> measure(space::Lattice& lattice, int from, int count) {
    std::vector<Measurement> all;
    space::Random points(random_());
    for (int machine = from; machine < kMachines; ++machine) {
      for (int i = 0; i < count; ++i) {
        std::vector<space::Level> point(lattice.width());
        REQUIRE(lattice.sample(points, point));
        all.push_back({place(machine), point, truth(machine, point) + 0.02 * normal_(random_)});
      }
    }
    return all;
  }

 private:
  std::vector<std::vector<double>> drawn(const space::Lattice& lattice, double sd) {
    std::vector<std::vector<double>> effects;
    for (std::size_t i = 0; i < lattice.width(); ++i) {
      std::vector<double>& each = effects.emplace_back();
      for (std::size_t level = 0; level < lattice.axis(i).levels; ++level) each.push_back(sd * normal_(random_));
    }
    return effects;
  }

  double own_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<std::vector<double>> common_;
  std::vector<std::vector<std::vector<double>>> deviations_;
  std::vector<double> levels_;
};

space::PointList all_points(space::Lattice& lattice) {
  space::PointList points(lattice.width());
  std::vector<space::Level> point(lattice.width(), 0);
  for (;;) {
    points.push_back(point);
    std::size_t i = 0;
    while (i < point.size() && ++point[i] == lattice.axis(i).levels) point[i++] = 0;
    if (i == point.size()) return points;
  }
}

/// Over draws: how much of the possible gain the first choice on machine 0 has, and how often 90 % intervals of gains
/// hold.
struct Judged {
  double gain = 0, covered = 0, own_share = 0;
};

Judged judge(double own, bool measured_there) {
  constexpr int kDraws = 12;
  const space::Space space = five_parameters();
  space::Lattice lattice(space);
  const space::PointList points = all_points(lattice);
  const std::vector<space::Level> reference(lattice.width(), 0);
  Judged judged;
  for (int draw = 1; draw <= kDraws; ++draw) {
    Machines machines(lattice, own, static_cast<std::uint64_t>(draw));
    const SharedEffects effects(lattice, machines.measure(lattice, measured_there ? 0 : 1, 40));
    const auto expected = effects.expect(Machines::place(0), points, reference);
    const auto best = std::ranges::max_element(expected, {}, &Expectation::expected_gain) - expected.begin();
    double mean = 0, least = HUGE_VAL;
    int inside = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double truth = machines.truth(0, points[i]);
      mean += truth / static_cast<double>(points.size());
      least = std::min(least, truth);
      const double gain = machines.truth(0, reference) - truth;
      inside += expected[i].gain_90.lower <= gain + 1e-9 && gain - 1e-9 <= expected[i].gain_90.upper ? 1 : 0;
    }
    judged.gain += (mean - machines.truth(0, points[static_cast<std::size_t>(best)])) / (mean - least) / kDraws;
    judged.covered += static_cast<double>(inside) / static_cast<double>(points.size()) / kDraws;
    judged.own_share += effects.own_share_of_machine() / kDraws;
  }
  return judged;
}

}  // namespace

TEST_CASE("effects that machines share are known on one where nothing was measured", "[transfer]") {
  const Judged alike = judge(0, false);
  INFO("gain " << alike.gain << ", covered " << alike.covered << ", own " << alike.own_share);
  CHECK(alike.gain > 0.95);
  CHECK(alike.covered > 0.85);
  CHECK(alike.own_share < 0.25);
}

TEST_CASE("machines that differ leave less to be known, and the intervals say so", "[transfer]") {
  const Judged alike = judge(0, false), different = judge(1, false);
  INFO("gain " << different.gain << ", covered " << different.covered << ", own " << different.own_share);
  CHECK(different.gain < alike.gain);
  CHECK(different.gain > 0.2);
  CHECK(different.covered > 0.8);
  CHECK(different.own_share > alike.own_share + 0.15);
}

TEST_CASE("what was measured on the machine itself overrules the others", "[transfer]") {
  const Judged there = judge(1, true);
  INFO("gain " << there.gain << ", covered " << there.covered);
  CHECK(there.gain > 0.9);
  CHECK(there.covered > 0.8);
}

TEST_CASE("how long a point takes is known to its noise where it was measured, and hardly on another machine",
          "[transfer]") {
  const space::Space space = five_parameters();
  space::Lattice lattice(space);
  Machines machines(lattice, 0.2, 7);
  const auto measured = machines.measure(lattice, 1, 40);
  const SharedEffects effects(lattice, measured);
  const std::vector<space::Level> reference(lattice.width(), 0);
  space::PointList points(lattice.width());
  points.push_back(measured.front().point);
  const Expectation known = effects.expect(measured.front().place, points, reference).front();
  const Expectation elsewhere = effects.expect(Machines::place(0), points, reference).front();
  CHECK(std::abs(known.log_time - machines.truth(1, measured.front().point)) < 0.1);
  CHECK(known.log_time_sd < 0.1);
  CHECK(elsewhere.log_time_sd > 4 * known.log_time_sd);
  CHECK(effects.noise_sd() < 0.06);
  // The reference against itself is no question.
  space::PointList itself(lattice.width());
  itself.push_back(reference);
  const Expectation same = effects.expect(Machines::place(0), itself, reference).front();
  CHECK(std::abs(same.log_gain) < 1e-9);
  CHECK(same.gain_90.upper - same.gain_90.lower < 1e-4);
}

namespace {

/// A kind of machines of which each has its own amplitude and its own share of effects, and pairs of parameters
/// interact.
class DrawnMachines {
 public:
  DrawnMachines(const space::Lattice& lattice, std::uint64_t seed) : random_(seed), width_(lattice.width()) {
    for (std::size_t i = 0; i < lattice.width(); ++i) levels_ = std::max(levels_, lattice.axis(i).levels);
    own_ = 0.1 + 0.6 * std::generate_canonical<double, 53>(random_);
    common_ = drawn();
    for (int machine = 0; machine < kMachines; ++machine) {
      amplitudes_.push_back(0.3 * std::exp(0.5 * normal_(random_)));
      deviations_.push_back(drawn());
    }
  }

  static constexpr int kMachines = 4;

  [[nodiscard]] double truth(int machine, space::Point point) const {
    const auto place = static_cast<std::size_t>(machine);
    return amplitudes_[place] *
           (std::sqrt(1 - own_) * sum(common_, point) + std::sqrt(own_) * sum(deviations_[place], point));
  }

  std::vector<Measurement> measure(space::Lattice& lattice, int machines, int count) {
    std::vector<Measurement> all;
    space::Random points(random_());
    for (int i = 0; i < machines * count; ++i) {
      const int machine = 1 + i % machines;
      std::vector<space::Level> point(lattice.width());
      REQUIRE(lattice.sample(points, point));
      all.push_back({Machines::place(machine), point, truth(machine, point) + 0.01 * normal_(random_)});
    }
    return all;
  }

 private:
  /// Of each level, then of each pair of levels: variances of a main effect 1 / width, of an interaction a quarter.
  std::vector<double> drawn() {
    std::vector<double> effects;
    const double main = std::sqrt(1 / static_cast<double>(width_));
    for (std::size_t i = 0; i < width_ * levels_; ++i) effects.push_back(main * normal_(random_));
    for (std::size_t i = 0; i < width_ * width_ * levels_ * levels_; ++i)
      effects.push_back(main / 2 / std::sqrt(static_cast<double>(width_ - 1) / 2) * normal_(random_));
    return effects;
  }
  [[nodiscard]] double sum(const std::vector<double>& effects, space::Point point) const {
    double sum = 0;
    for (std::size_t i = 0; i < width_; ++i) sum += effects[i * levels_ + point[i]];
    for (std::size_t i = 0; i < width_; ++i)
      for (std::size_t j = 0; j < i; ++j)
        sum += effects[width_ * levels_ + ((i * width_ + j) * levels_ + point[i]) * levels_ + point[j]];
    return sum;
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::size_t width_, levels_ = 0;
  double own_ = 0;
  std::vector<double> common_, amplitudes_;
  std::vector<std::vector<double>> deviations_;
};

/// Over draws: how often 90 % intervals of gains hold on a machine where nothing was measured, with so many known.
double coverage_elsewhere(int machines, int draws) {
  const space::Space space = five_parameters();
  space::Lattice lattice(space);
  const space::PointList points = all_points(lattice);
  const std::vector<space::Level> reference(lattice.width(), 0);
  double covered = 0;
  for (int draw = 1; draw <= draws; ++draw) {
    DrawnMachines drawn(lattice, static_cast<std::uint64_t>(1000 * machines + draw));
    const SharedEffects effects(lattice, drawn.measure(lattice, machines, 20));
    space::PointList some(lattice.width());
    space::Random random(static_cast<std::uint64_t>(draw));
    for (int i = 0; i < 50; ++i) some.push_back(points[random.below(std::uint64_t{points.size()})]);
    const auto expected = effects.expect(Machines::place(0), some, reference);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const double gain = drawn.truth(0, reference) - drawn.truth(0, some[i]);
      const auto [lower, upper] = expected[i].gain_90;
      covered += lower <= gain + 1e-9 && gain <= upper + 1e-9 ? 1.0 / static_cast<double>(some.size()) / draws : 0;
    }
  }
  return covered;
}

}  // namespace

TEST_CASE("on drawn machines where nothing was measured, 90 % intervals of gains hold 85 to 95 %", "[transfer]") {
  for (const int machines : {1, 2, 3}) {
    const double covered = coverage_elsewhere(machines, 200);
    INFO(machines << " machines known: " << covered);
    CHECK(covered > 0.85);
    CHECK(covered < 0.95);
  }
}

TEST_CASE("one measurement is enough to say something, and little", "[transfer]") {
  const space::Space space = five_parameters();
  space::Lattice lattice(space);
  const std::vector<space::Level> reference(lattice.width(), 0), other(lattice.width(), 1);
  const SharedEffects effects(lattice, {{Machines::place(0), reference, 1.5}});
  space::PointList points(lattice.width());
  points.push_back(reference);
  points.push_back(other);
  const auto expected = effects.expect(Machines::place(0), points, reference);
  CHECK(std::abs(expected[0].log_time - 1.5) < 0.2);
  CHECK(expected[1].gain_90.upper - expected[1].gain_90.lower > 0.4);
}

}  // namespace nocturne::search::transfer
