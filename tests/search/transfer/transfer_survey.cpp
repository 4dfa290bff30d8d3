/// What the measurements of other machines are worth: leave one out.
///
///   nocturne-transfer-survey SPACE,SPACE,… …
///
/// Each argument is a family: recorded spaces with the same parameters, each measured on another machine, separated by
/// commas. Of each space in turn nothing is known but what 150 random configurations took on each of the others; the
/// first choice is the one expected to be the fastest. Prints, for each and on average over ten draws: its share of the
/// possible gain, (ln t0 - ln t) / (ln t0 - ln t*) with t0 the mean time of a configuration and t* the best; how often
/// 90 % intervals of gains over a random configuration hold; and the share of effects that a machine has to itself.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "search/history/past_trials.hpp"
#include "search/replay/load.hpp"
#include "search/transfer/shared_effects.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"

namespace nocturne::test {
namespace {

using search::replay::RecordedSpace;
using search::transfer::Expectation;
using search::transfer::Measurement;
using search::transfer::Place;

constexpr int kDraws = 10;
constexpr std::size_t kOfEach = 150;       // measurements of each other machine
constexpr std::size_t kMostPoints = 2000;  // of the machine that is left out

std::vector<RecordedSpace> load_family(const std::string& names) {
  std::vector<std::filesystem::path> paths;
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    paths.emplace_back(names.substr(from, comma - from));
    from = comma + 1;
  }
  auto loaded = search::replay::load(paths);
  if (!loaded) throw std::runtime_error(loaded.error());
  return std::move(*loaded);
}

/// Rows that are ok, in a random order.
std::vector<std::size_t> shuffled_rows(const RecordedSpace& recorded, space::Random& random) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < recorded.rows().size(); ++row)
    if (recorded.rows().outcomes[row] == space::Outcome::Ok) rows.push_back(row);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  return rows;
}

struct Judged {
  double gain = 0, covered = 0, own_share = 0;
};

Judged leave_out(const std::vector<RecordedSpace>& family, std::size_t left_out, std::uint64_t seed) {
  const RecordedSpace& target = family[left_out];
  space::Lattice lattice(target.space());
  space::Random random(seed);
  std::vector<Measurement> known;
  const std::size_t of_each = std::min(kOfEach, search::transfer::SharedEffects::kMost / (family.size() - 1));
  for (std::size_t other = 0; other < family.size(); ++other) {
    if (other == left_out) continue;
    std::size_t count = 0;
    for (const std::size_t row : shuffled_rows(family[other], random)) {
      if (count == of_each) break;
      auto point = search::history::nearest_point(lattice, family[other].configuration(row));
      if (!point) continue;
      known.push_back(
          {{family[other].name(), "kernel"}, *std::move(point), std::log(family[other].rows().objectives[row])});
      ++count;
    }
  }
  const search::transfer::SharedEffects effects(lattice, std::move(known));

  space::PointList points(lattice.width());
  std::vector<double> truths;
  double mean = 0;
  std::size_t rows = 0;
  for (const double each : target.ordered()) mean += each / static_cast<double>(target.ordered().size());
  for (const std::size_t row : shuffled_rows(target, random)) {
    if (rows++ == kMostPoints) break;
    points.push_back(*lattice.point_of(target.configuration(row)));
    truths.push_back(std::log(target.rows().objectives[row]));
  }
  const auto expected = effects.expect({.machine = target.name(), .network = "kernel"}, points, points[0]);
  const auto best = std::ranges::max_element(expected, {}, &Expectation::log_gain) - expected.begin();
  Judged judged{.own_share = effects.own_share_of_machine()};
  for (std::size_t i = 1; i < truths.size(); ++i) {
    const bool inside = std::abs(truths[0] - truths[i] - expected[i].log_gain) <= 1.645 * expected[i].log_gain_sd;
    judged.covered += (inside ? 1.0 : 0.0) / static_cast<double>(truths.size() - 1);
  }
  const double possible = *std::ranges::min_element(truths);
  judged.gain = (std::log(mean) - truths[static_cast<std::size_t>(best)]) / (std::log(mean) - possible);
  return judged;
}

void survey(const std::vector<std::string>& families) {
  std::cout << "| nothing measured on | share of the possible gain | 90 % intervals hold | a machine's own share |\n"
               "| --- | --- | --- | --- |\n";
  double sum = 0;
  int count = 0;
  for (const std::string& names : families) {
    const auto family = load_family(names);
    for (std::size_t left_out = 0; left_out < family.size(); ++left_out) {
      Judged mean;
      for (int draw = 1; draw <= kDraws; ++draw) {
        const Judged judged = leave_out(family, left_out, static_cast<std::uint64_t>(draw));
        mean.gain += judged.gain / kDraws;
        mean.covered += judged.covered / kDraws;
        mean.own_share += judged.own_share / kDraws;
      }
      std::cout << fmt::format("| {} | {:.0f} % | {:.0f} % | {:.0f} % |\n", family[left_out].name(), 100 * mean.gain,
                               100 * mean.covered, 100 * mean.own_share)
                << std::flush;
      sum += mean.gain;
      ++count;
    }
  }
  std::cout << fmt::format("| mean | {:.0f} % | | |\n", 100 * sum / std::max(count, 1));
}

}  // namespace
}  // namespace nocturne::test

int main(int argc, char** argv) {
  const std::vector<std::string> families(argv + 1, argv + argc);
  if (families.empty()) {
    std::cerr << "nocturne-transfer-survey SPACE,SPACE,… …\n";
    return 2;
  }
  try {
    nocturne::test::survey(families);
  } catch (const std::exception& exception) {
    std::cerr << "nocturne-transfer-survey: " << exception.what() << '\n';
    return 1;
  }
  return 0;
}
