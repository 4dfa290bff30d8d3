/// What the measurements of other machines are worth: leave one out.
///
///   nocturne-transfer-survey [--tuned | --search] [--first N] SPACE,SPACE,… …
///
/// Each argument is a family: recorded spaces with the same parameters, each measured on another machine, separated by
/// commas. Of each space in turn nothing is known but what 150 random configurations took on each of the others (with
/// --tuned: what `auto` tried there, from nothing); the first choice is the one expected to gain most. Prints, for each
/// and on average over ten draws (numbers N to N + 9; 1 without --first): its share of the possible gain, (ln t0 - ln
/// t) / (ln t0 - ln t*) with t0 the mean time of a configuration and t* the best; the same of the fastest configuration
/// that the other machines measured, and of the one they would have measured had they measured all; how often 90 %
/// intervals of gains over a random configuration hold, and how wide they are against the sd of true gains; and the
/// share of effects that a machine has to itself.
///
/// --search: what that is worth to a search of 25 evaluations, 100 of them, seeds N to N + 99. Prints the share of the
/// possible gain that `auto` has after 1, 5, 10 and 25, from nothing and with the orders of the other machines
/// (history/ranking.hpp).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "search/history/past_trials.hpp"
#include "search/replay/load.hpp"
#include "search/replay/replay.hpp"
#include "search/transfer/shared_effects.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"

namespace nocturne::test {
namespace {

using search::replay::RecordedSpace;
using search::transfer::Expectation;
using search::transfer::Measurement;
using search::transfer::Place;

constexpr std::uint64_t kDraws = 10;
constexpr std::uint64_t kSeeds = 1'000'000;
constexpr std::size_t kOfEach = 150;  // measurements of each other machine

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

struct Wishes {
  bool tuned = false;       ///< the others were searched, not sampled
  bool search = false;      ///< what searches are worth, not predictions
  std::uint64_t first = 1;  ///< of the draws
};

/// Rows that are ok, in a random order.
std::vector<std::size_t> shuffled_rows(const RecordedSpace& recorded, space::Random& random) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < recorded.rows().size(); ++row)
    if (recorded.rows().outcomes[row] == space::Outcome::Ok) rows.push_back(row);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  return rows;
}

/// What was measured of one of the others: rows of it.
std::vector<std::size_t> measured_rows(const RecordedSpace& other, std::size_t count, const Wishes& wishes,
                                       space::Random& random) {
  if (!wishes.tuned) {
    auto rows = shuffled_rows(other, random);
    rows.resize(std::min(rows.size(), count));
    return rows;
  }
  std::vector<std::size_t> rows;
  for (const space::Trial& each : search::replay::earlier_campaign(other, count, random.below(kSeeds)).trials)
    if (const auto place = other.find(each.configuration); place && each.outcome == space::Outcome::Ok)
      rows.push_back(place->row);
  return rows;
}

std::vector<Measurement> known_of_others(const std::vector<RecordedSpace>& family, std::size_t left_out,
                                         const space::Lattice& lattice, std::size_t of_each, const Wishes& wishes,
                                         space::Random& random) {
  std::vector<Measurement> known;
  for (std::size_t other = 0; other < family.size(); ++other) {
    if (other == left_out) continue;
    for (const std::size_t row : measured_rows(family[other], of_each, wishes, random)) {
      auto point = search::history::nearest_point(lattice, family[other].configuration(row));
      if (!point) continue;
      known.push_back(
          {{family[other].name(), "kernel"}, *std::move(point), std::log(family[other].rows().objectives[row])});
    }
  }
  return known;
}

struct Judged {
  double gain = 0, copied = 0, copied_of_all = 0, covered = 0, width = 0, own_share = 0;
};

/// The row of the fastest configuration that the others measured, and that the machine has, too.
std::optional<std::size_t> fastest_of(std::vector<Measurement> known, const space::Lattice& lattice,
                                      const RecordedSpace& target) {
  std::ranges::stable_sort(known, {}, &Measurement::log_time);
  for (const Measurement& each : known) {
    const auto place = target.find(lattice.configuration(each.point));
    if (place && target.rows().outcomes[place->row] == space::Outcome::Ok) return place->row;
  }
  return std::nullopt;
}

Judged leave_out(const std::vector<RecordedSpace>& family, std::size_t left_out, const Wishes& wishes,
                 std::uint64_t seed) {
  const RecordedSpace& target = family[left_out];
  space::Lattice lattice(target.space());
  space::Random random(seed);
  const std::size_t of_each = std::min(kOfEach, search::transfer::SharedEffects::kMost / (family.size() - 1));
  const auto known = known_of_others(family, left_out, lattice, of_each, wishes, random);
  const search::transfer::SharedEffects effects(lattice, known);

  space::PointList points(lattice.width());
  std::vector<double> truths;
  double mean = 0, spread = 0;
  for (const double each : target.ordered()) mean += each / static_cast<double>(target.ordered().size());
  for (const std::size_t row : shuffled_rows(target, random)) {
    points.push_back(*lattice.point_of(target.configuration(row)));
    truths.push_back(std::log(target.rows().objectives[row]));
  }
  const auto expected = effects.expect({.machine = target.name(), .network = "kernel"}, points, points[0]);
  const auto best = std::ranges::max_element(expected, {}, &Expectation::expected_gain) - expected.begin();
  Judged judged{.own_share = effects.own_share_of_machine()};
  const auto count = static_cast<double>(truths.size() - 1);
  for (std::size_t i = 1; i < truths.size(); ++i) {
    judged.covered += expected[i].gain_90.contains(truths[0] - truths[i]) ? 1 / count : 0;
    judged.width += (expected[i].gain_90.upper - expected[i].gain_90.lower) / count;
    spread += std::pow(truths[i] - std::accumulate(truths.begin(), truths.end(), 0.0) / (count + 1), 2) / count;
  }
  judged.width /= std::sqrt(2 * spread);
  const double possible = std::log(mean / target.optimum());
  judged.gain = (std::log(mean) - truths[static_cast<std::size_t>(best)]) / possible;
  const auto share_of_fastest = [&](std::vector<Measurement> measured) {
    const auto row = fastest_of(std::move(measured), lattice, target);
    return row ? (std::log(mean) - std::log(target.rows().objectives[*row])) / possible : 0;
  };
  judged.copied = share_of_fastest(known);
  space::Random order(seed);
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  judged.copied_of_all = share_of_fastest(known_of_others(family, left_out, lattice, kAll, {}, order));
  return judged;
}

constexpr std::size_t kSearches = 100;
constexpr std::array<std::size_t, 4> kEvaluations = {1, 5, 10, 25};
using Shares = std::array<double, kEvaluations.size()>;

/// What `auto` has of the possible gain after so many evaluations, on average; a run that found nothing has the worst.
Shares search_from(const RecordedSpace& target, const search::replay::HistoryOf& history, std::uint64_t seed) {
  const search::replay::ReplayOptions options{.strategies = {"auto"},
                                              .evaluations = kEvaluations.back(),
                                              .repeats = kSearches,
                                              .seed = seed,
                                              .history = history};
  const auto series = search::replay::replay({&target, 1}, options);
  if (!series) throw std::runtime_error(series.error());
  const auto& times = target.ordered();
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  Shares shares{};
  for (const search::replay::RunTrace& run : series->front().runs) {
    double best = times.back();
    for (std::size_t i = 0, next = 0; i < kEvaluations.back(); ++i) {
      if (i < run.values.size() && !std::isnan(run.values[i])) best = std::min(best, run.values[i]);
      if (i + 1 == kEvaluations[next])
        shares[next++] += std::log(mean / best) / std::log(mean / target.optimum()) / kSearches;
    }
  }
  return shares;
}

void survey_searches(const std::vector<std::string>& families, const Wishes& wishes) {
  std::cout << "| searched on | from | after 1 | 5 | 10 | 25 |\n| --- | --- | --- | --- | --- | --- |\n";
  const auto print = [](const std::string& name, const std::string& from, const Shares& shares) {
    std::cout << fmt::format("| {} | {} | {:.0f} % | {:.0f} % | {:.0f} % | {:.0f} % |\n", name, from, 100 * shares[0],
                             100 * shares[1], 100 * shares[2], 100 * shares[3])
              << std::flush;
  };
  std::map<std::string, Shares> sums;
  double count = 0;
  for (const std::string& names : families) {
    const auto family = load_family(names);
    for (const RecordedSpace& target : family) {
      const auto others = [&](const RecordedSpace&, std::uint64_t seed) {
        std::vector<search::History> histories;
        for (const RecordedSpace& other : family)
          if (&other != &target) histories.push_back(search::replay::sampled_campaign(other, kOfEach, seed));
        return histories;
      };
      ++count;
      for (const bool known : {false, true}) {
        const std::string from = known ? "the others" : "nothing";
        const auto shares = search_from(target, known ? others : search::replay::HistoryOf{}, wishes.first);
        print(target.name(), from, shares);
        for (std::size_t i = 0; i < shares.size(); ++i) sums[from][i] += shares[i];
      }
    }
  }
  for (auto& [from, shares] : sums) {
    for (double& each : shares) each /= count;
    print("mean", from, shares);
  }
}

void survey(const std::vector<std::string>& families, const Wishes& wishes) {
  std::cout
      << "| nothing measured on | share of the possible gain | of the others' fastest | of all their fastest | 90 % "
         "intervals hold | their width, in sd | a machine's own share |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  Judged all;
  double count = 0;
  const auto print = [](const std::string& name, const Judged& judged) {
    std::cout << fmt::format("| {} | {:.0f} % | {:.0f} % | {:.0f} % | {:.0f} % | {:.1f} | {:.0f} % |\n", name,
                             100 * judged.gain, 100 * judged.copied, 100 * judged.copied_of_all, 100 * judged.covered,
                             judged.width, 100 * judged.own_share)
              << std::flush;
  };
  const auto add = [](Judged& sum, const Judged& each, double part) {
    sum.gain += each.gain * part;
    sum.copied += each.copied * part;
    sum.copied_of_all += each.copied_of_all * part;
    sum.covered += each.covered * part;
    sum.width += each.width * part;
    sum.own_share += each.own_share * part;
  };
  for (const std::string& names : families) {
    const auto family = load_family(names);
    for (std::size_t left_out = 0; left_out < family.size(); ++left_out) {
      Judged mean;
      for (std::uint64_t draw = 0; draw < kDraws; ++draw)
        add(mean, leave_out(family, left_out, wishes, wishes.first + draw), 1.0 / kDraws);
      print(family[left_out].name(), mean);
      add(all, mean, 1);
      ++count;
    }
  }
  Judged mean;
  add(mean, all, 1 / std::max(count, 1.0));
  print("mean", mean);
}

}  // namespace
}  // namespace nocturne::test

int main(int argc, char** argv) {
  constexpr const char* kUsage = "usage: nocturne-transfer-survey [--tuned | --search] [--first N] SPACE,SPACE,… …\n";
  std::vector<std::string> families;
  nocturne::test::Wishes wishes;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--help" || word == "-h") {
        std::cout << kUsage << "What other machines let expect of one that is left out: examples/README.md\n";
        return 0;
      }
      if (word == "--tuned")
        wishes.tuned = true;
      else if (word == "--search")
        wishes.search = true;
      else if (word == "--first" && i + 1 < argc)
        wishes.first = std::stoull(argv[++i]);
      else
        families.push_back(word);
    }
    if (families.empty()) {
      std::cerr << kUsage;
      return 2;
    }
    (wishes.search ? nocturne::test::survey_searches : nocturne::test::survey)(families, wishes);
  } catch (const std::exception& exception) {
    std::cerr << "nocturne-transfer-survey: " << exception.what() << '\n';
    return 1;
  }
  return 0;
}
