/// How often a planted gain is found, at what cost, and how true the reported one is: the way of a campaign and a fixed
/// number of repetitions, on noise of four sources (equal_configurations.hpp).
///
///   nocturne-verdict-survey [CAMPAIGNS] [FIRST-SEED]
///
/// Prints a table; 2,000 campaigns a row take some minutes. Nothing is measured: the same seeds give the same table.
/// Exit code: 0 campaigns keep their promises, 1 they do not (a sentence says where), 2 wrong usage.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "tests/tuner/campaign/simulated_finals.hpp"

namespace nocturne::test {
namespace {

using Play = std::function<SimulatedVerdict(const SimulatedCampaign&, EqualConfigurations&)>;

constexpr double kMostWrong = 0.05;     // of all campaigns: FASTER, and is not
constexpr double kLeastCovered = 0.95;  // of all intervals that are reported
// Where the way was not made:
constexpr double kFoundLess = 0.05;
constexpr double kLeastCoveredElsewhere = 0.93;

/// A share that chance alone may have moved by three standard deviations.
double chance(double share, int of) {
  return of == 0 ? 1 : 3 * std::sqrt(share * (1 - share) / of);
}

using MakeNoise = std::unique_ptr<EqualConfigurations> (*)(std::uint64_t seed);

struct Row {
  MakeNoise noise = nullptr;
  std::string way;
  double gain_percent = 0;
  bool structured = false;
  bool paired = false;
  int selection_pairs = SimulatedCampaign().selection_pairs;
  double least_found = 0;  ///< of all campaigns; 0: nothing is promised
  double least_covered = kLeastCovered;
};

/// Prints it. True where what is reported is seldom wrong, true as often as is said, and found as often as is promised.
bool print(const Row& row, const Play& play, int campaigns, std::uint64_t first_seed) {
  SimulatedCampaign campaign{.planted = std::log1p(row.gain_percent / 100),
                             .structured = row.structured,
                             .paired = row.paired,
                             .selection_pairs = row.selection_pairs};
  int chosen = 0, found = 0, wrong = 0, reports = 0, covered = 0;
  double ratio = 0, processes = 0;
  bool bounded = false;  // one repetition has no interval
  for (int i = 0; i < campaigns; ++i) {
    campaign.seed = first_seed + static_cast<std::uint64_t>(i);
    const auto noise = row.noise(campaign.seed);
    const SimulatedVerdict simulated = play(campaign, *noise);
    processes += static_cast<double>(simulated.processes);
    chosen += simulated.chose_planted ? 1 : 0;
    const bool faster = simulated.verdict == measure::Verdict::Faster;
    found += faster && simulated.truth > 0 ? 1 : 0;
    wrong += faster && simulated.truth <= 0 ? 1 : 0;
    if (simulated.low == simulated.high) continue;  // the default won, or there is no interval
    ++reports;
    covered += simulated.low <= simulated.truth && simulated.truth <= simulated.high ? 1 : 0;
    bounded = bounded || std::isfinite(simulated.high);
    ratio += std::exp(simulated.reported - simulated.truth);
  }
  const auto share = [](int part, int whole) { return whole == 0 ? 0.0 : 100.0 * part / whole; };
  std::cout << fmt::format("| {} | {:g} % | {:.0f} % | {:.1f} % | {:.1f} % | {:.0f} | {} | {:.3f} |\n", row.way,
                           row.gain_percent, share(chosen, campaigns), share(found, campaigns), share(wrong, campaigns),
                           processes / campaigns, bounded ? fmt::format("{:.1f} %", share(covered, reports)) : "none",
                           reports == 0 ? 0 : ratio / reports);
  return wrong <= (kMostWrong + chance(kMostWrong, campaigns)) * campaigns &&
         covered >= (row.least_covered - chance(row.least_covered, reports)) * reports &&
         found >= (row.least_found - chance(row.least_found, campaigns)) * campaigns;
}

template <const NoiseRecord& (*record)()>
std::unique_ptr<EqualConfigurations> recorded(std::uint64_t seed) {
  return std::make_unique<RecordedNoise>(seed, record());
}

/// The way of a campaign. Promised is so much less.
bool survey_campaigns(MakeNoise noise, const std::string& of, double less, int campaigns, std::uint64_t first_seed) {
  const std::string own = "the campaign's, " + of, structured = own + ", two of seven parameters matter";
  bool kept = true;
  for (const Row& row :
       {Row{.gain_percent = 0}, Row{.gain_percent = 1}, Row{.gain_percent = 2, .least_found = 0.30},
        Row{.gain_percent = 5, .least_found = 0.90}, Row{.gain_percent = 10, .least_found = 0.97},
        Row{.gain_percent = 20, .least_found = 0.97}, Row{.gain_percent = 0, .structured = true},
        Row{.gain_percent = 2, .structured = true}, Row{.gain_percent = 5, .structured = true, .least_found = 0.95}}) {
    Row named = row;
    named.noise = noise;
    named.way = row.structured ? structured : own;
    named.least_found = std::max(0.0, row.least_found - less);
    if (less > 0) named.least_covered = kLeastCoveredElsewhere;
    if (print(named, play_campaign, campaigns, first_seed)) continue;
    std::cerr << fmt::format("with a planted gain of {:g} % this way does not keep its promises: {}\n",
                             named.gain_percent, named.way);
    kept = false;
  }
  return kept;
}

/// The native worker's record, where processes alone scatter so many times as far.
template <int spread>
std::unique_ptr<EqualConfigurations> spread_out(std::uint64_t seed) {
  return std::make_unique<RecordedNoise>(seed, native_worker_record(), spread);
}

/// Trials alone, and in turns with the default where fewer pairs choose, so that both cost as many processes. Promised
/// is only that what is said is true.
bool survey_paired(MakeNoise noise, const std::string& of, int campaigns, std::uint64_t first_seed) {
  constexpr int kPairsBesideTurns = 25;
  bool kept = true;
  for (const bool structured : {false, true}) {
    for (const double gain : {0.0, 2.0, 5.0, 10.0}) {
      for (const bool paired : {false, true}) {
        Row row{.noise = noise,
                .way = fmt::format("trials {}, {}{}", paired ? "paired" : "alone", of,
                                   structured ? ", two of seven parameters matter" : ""),
                .gain_percent = gain,
                .structured = structured,
                .paired = paired,
                .least_covered = kLeastCoveredElsewhere};
        if (paired) row.selection_pairs = kPairsBesideTurns;
        kept &= print(row, play_campaign, campaigns, first_seed);
      }
    }
  }
  if (!kept) std::cerr << "what is said of trials alone and paired is not true: " << of << '\n';
  return kept;
}

int survey(int campaigns, std::uint64_t first_seed) {
  std::cout << "| way | planted | chosen | found FASTER | FASTER, and is not | processes | interval holds the truth | "
               "reported / true |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  bool kept = survey_campaigns(recorded<native_worker_record>, "native worker", 0, campaigns, first_seed);
  kept &=
      survey_campaigns(recorded<later_native_worker_record>, "native worker, later", kFoundLess, campaigns, first_seed);
  // Pairs scatter three times as far there: nothing is promised but that what is said is true.
  kept &= survey_campaigns(recorded<scripts_record>, "scripts", 1, campaigns, first_seed);
  const MakeNoise formula = [](std::uint64_t seed) -> std::unique_ptr<EqualConfigurations> {
    return std::make_unique<FormulaNoise>(seed);
  };
  kept &= survey_campaigns(formula, "formula", kFoundLess, campaigns, first_seed);
  kept &= survey_paired(recorded<native_worker_record>, "native worker", campaigns, first_seed);
  kept &= survey_paired(recorded<scripts_record>, "scripts", campaigns, first_seed);
  kept &= survey_paired(formula, "formula", campaigns, first_seed);
  kept &= survey_paired(spread_out<2>, "native worker, processes twice as far apart", campaigns, first_seed);
  kept &= survey_paired(spread_out<4>, "native worker, processes four times as far apart", campaigns, first_seed);
  for (const double gain : {0.0, 1.0, 2.0, 5.0, 10.0, 20.0}) {
    for (const std::size_t repeats : {1U, 3U, 10U}) {
      (void)print(
          {.noise = recorded<native_worker_record>,
           .way = fmt::format("each {} times, native worker", repeats),
           .gain_percent = gain},
          [repeats](const SimulatedCampaign& campaign, EqualConfigurations& noise) {
            return play_repetition(campaign, repeats, noise);
          },
          campaigns, first_seed);
    }
  }
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace nocturne::test

int main(int argc, char** argv) {
  const int campaigns = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 2000;
  if (campaigns < 1) {
    std::cerr << "nocturne-verdict-survey [CAMPAIGNS] [FIRST-SEED]\n";
    return 2;
  }
  try {
    return nocturne::test::survey(campaigns, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  } catch (const std::exception& exception) {
    std::cerr << "nocturne-verdict-survey: " << exception.what() << '\n';
    return 1;
  }
}
