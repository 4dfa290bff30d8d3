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
    const auto best = std::ranges::max_element(expected, {}, &Expectation::log_gain) - expected.begin();
    double mean = 0, least = HUGE_VAL;
    int inside = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double truth = machines.truth(0, points[i]);
      mean += truth / static_cast<double>(points.size());
      least = std::min(least, truth);
      const double gain = machines.truth(0, reference) - truth;
      inside += std::abs(gain - expected[i].log_gain) <= 1.645 * expected[i].log_gain_sd + 1e-9 ? 1 : 0;
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
  CHECK(same.log_gain_sd < 1e-4);
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
  CHECK(expected[1].log_gain_sd > 0.1);
}

}  // namespace nocturne::search::transfer
