#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "search/model/changes.hpp"
#include "search/model/pruning.hpp"
#include "search/replay/space_folder.hpp"
#include "tests/search/drawn_campaign.hpp"
#include "tests/tuner/campaign/equal_configurations.hpp"

/// Do the intervals of a page hold what is true? Campaigns are drawn whose truth is known: a search that returns to
/// what was fastest, processes that differ, and now and then one that a neighbour disturbed.

namespace nocturne::search::model {
namespace {

using namespace search::test;
using space::Level;

constexpr double kDisturbed = 0.05;  // of the runs

/// How processes differ.
enum class Noise {
  Normal,    ///< by 3 %
  Recorded,  ///< as 320 of a real machine did one after the other: heavy tails, and they drift
};

/// What campaigns are drawn from.
struct Source {
  space::Lattice& lattice;
  std::function<double(space::Point)> truth;  ///< log units
  Noise noise = Noise::Normal;
  double disturbed = kDisturbed;
};

struct CampaignDraw {
  explicit CampaignDraw(space::Lattice& lattice) : model(lattice, kForReports) {}
  LinearModel model;
  std::vector<Level> best;
};

/// Two of five trials anywhere, three beside the fastest so far.
CampaignDraw draw_campaign(const Source& source, std::size_t trials, std::uint64_t seed) {
  space::Lattice& lattice = source.lattice;
  CampaignDraw drawn(lattice);
  space::Random random(seed);
  nocturne::test::RecordedNoise recorded(seed);
  std::vector<Level> point(lattice.width());
  std::map<std::vector<Level>, double> told;
  double fastest = 1e9;
  for (std::size_t tries = 0; told.size() < trials && tries < 1000 * trials; ++tries) {
    REQUIRE(lattice.sample(random, point));
    if (!drawn.best.empty() && random.unit() < 0.6) {
      const auto moved = static_cast<std::size_t>(random.unit() * static_cast<double>(lattice.width()));
      const auto beside = with_level(lattice, drawn.best, moved, point[moved], /*others=*/1);
      if (!beside) continue;
      point = *beside;
    }
    if (told.contains(point)) continue;
    const double process = source.noise == Noise::Normal ? 0.03 * normal(random) : recorded.alone();
    const double value = source.truth(point) + process + disturbance(random, source.disturbed);
    told.emplace(point, value);
    drawn.model.tell(point, value);
    if (value < fastest) {
      fastest = value;
      drawn.best = point;
    }
  }
  drawn.model.fit();
  return drawn;
}

struct Counts {
  double lines = 0, held = 0;           ///< levels, each by itself
  double parameters = 0, all_held = 0;  ///< all levels of each together, as the page promises
  double pages = 0, mode_effects = 0;
  double ruled_out = 0, wrong_pages = 0;  ///< values of environment and build; pages on which one of them can win
  double f32_ruled_out = 0;
  double pruned = 0, pruned_wrongly = 0;  ///< shares of uniform draws
  [[nodiscard]] double together() const { return all_held / parameters; }
};

void count_changes(const Source& source, CampaignDraw& drawn, const ChangeOptions& options, Counts& counts) {
  std::map<std::size_t, bool> held;
  bool mode_has_effect = false;
  for (const LevelChange& each : changes_from(drawn.model, source.lattice, drawn.best, options)) {
    const bool right = each.interval.contains(source.truth(each.changed) - source.truth(drawn.best));
    held.try_emplace(each.parameter, true).first->second &= right;
    counts.lines += 1;
    counts.held += right;
    mode_has_effect |= each.parameter == kMode && (each.interval.lower > 0.02 || each.interval.upper < -0.02);
  }
  for (const auto& [parameter, all] : held) {
    counts.parameters += 1;
    counts.all_held += all;
  }
  counts.pages += 1;
  counts.mode_effects += mode_has_effect;
}

/// What `Ruled out` says, against the fastest true time of each value.
void count_ruled_out(const Source& source, CampaignDraw& drawn, const ChangeOptions& options, Counts& counts) {
  space::Lattice& lattice = source.lattice;
  const double best = source.truth(drawn.best);
  ChangeForecast forecast(drawn.model, lattice, drawn.best, options);
  Pruning pruning(forecast, {0}, 1);
  space::PointList starts(lattice.width());
  starts.push_back(drawn.best);
  space::Random random(7);
  std::vector<Level> point(lattice.width());
  bool wrong = false;
  for (const PrunedLevel& level : pruning.levels(lattice, starts, random)) {
    double fastest = 1e9;
    space::Random draws(8);
    for (int i = 0; i < 4000 && lattice.sample(draws, point); ++i)
      if (point[level.parameter] == level.level) fastest = std::min(fastest, source.truth(point));
    counts.ruled_out += 1;
    counts.f32_ruled_out += level.parameter == kPrecision && level.level == 0;
    wrong = wrong || fastest <= best + 1e-9;  // as fast is not ruled out
  }
  counts.wrong_pages += wrong;
  for (int i = 0; i < 100 && lattice.sample(random, point); ++i) {
    if (!pruning.pruned(point)) continue;
    counts.pruned += 1;
    counts.pruned_wrongly += source.truth(point) < best;
  }
}

Counts count(const Source& source, std::size_t trials, std::uint64_t campaigns, double confidence = 0.9) {
  Counts counts;
  const ChangeOptions options{.confidence = confidence};
  for (std::uint64_t seed = 1; seed <= campaigns; ++seed) {
    CampaignDraw drawn = draw_campaign(source, trials, seed);
    count_changes(source, drawn, options, counts);
    count_ruled_out(source, drawn, options, counts);
  }
  return counts;
}

/// A small form of the survey below: shares are known to some hundredths.
void check_pages(Noise noise, double disturbed, std::uint64_t campaigns) {
  const auto space = drawn_space();
  space::Lattice lattice(space);
  for (const std::size_t trials : {25UL, 50UL, 100UL}) {
    CAPTURE(trials, disturbed);
    const Counts counts = count({lattice, drawn_truth, noise, disturbed}, trials, campaigns);
    CHECK(counts.together() > 0.85);
    CHECK(counts.together() < 0.99);  // wider than need be at 100 trials
    CHECK(counts.mode_effects / counts.pages < 0.1);
    CHECK(counts.wrong_pages / counts.pages < 0.1);
    CHECK(counts.pruned_wrongly <= 0.01 * counts.pruned + 1);
    if (noise == Noise::Normal && trials >= 50) CHECK(counts.f32_ruled_out / counts.pages > 0.5);
  }
}

/// No sum of effects: each three parameters have, for each of their levels together, a deviation to themselves.
double rough_truth(space::Point point) {
  double sum = drawn_truth(point);
  for (std::size_t i = 0; i < point.size(); ++i) {
    for (std::size_t j = i + 1; j < point.size(); ++j) {
      for (std::size_t k = j + 1; k < point.size(); ++k) {
        const std::size_t place = (i * point.size() + j) * point.size() + k;
        space::Random random(((place * 8 + point[i]) * 8 + point[j]) * 8 + point[k]);
        sum += 0.06 * normal(random);
      }
    }
  }
  return sum;
}

std::string row(const std::string& name, std::size_t trials, double confidence, const Counts& counts) {
  return fmt::format(
      "{:<24} {:>4} {:>4.0f} %  together {:5.1f} %  alone {:5.1f} %  mode {:4.1f} %  ruled out {:4.2f} a page, wrong "
      "on {:4.1f} %  pruned {:4.1f} %, wrongly {:.2f} %\n",
      name, trials, 100 * confidence, 100 * counts.together(), 100 * counts.held / counts.lines,
      100 * counts.mode_effects / counts.pages, counts.ruled_out / counts.pages,
      100 * counts.wrong_pages / counts.pages, counts.pruned / counts.pages,
      counts.pruned > 0 ? 100 * counts.pruned_wrongly / counts.pruned : 0);
}

void survey(const std::string& name, const Source& source, std::uint64_t campaigns) {
  for (const double confidence : {0.9, 0.95}) {
    for (const std::size_t trials : {25UL, 50UL, 100UL}) {
      fmt::print("{}", row(name, trials, confidence, count(source, trials, campaigns, confidence)));
      std::fflush(stdout);
    }
  }
}

}  // namespace

TEST_CASE("intervals of a page hold what is true, whatever disturbed a run", "[model]") {
  check_pages(Noise::Normal, kDisturbed, /*campaigns=*/120);
}

TEST_CASE("intervals of a page hold what is true under the noise that a machine had", "[model]") {
  check_pages(Noise::Recorded, 0, /*campaigns=*/60);
  check_pages(Noise::Recorded, kDisturbed, /*campaigns=*/60);
}

TEST_CASE("intervals of a page hold what is true where that is no sum of effects", "[model]") {
  const auto space = drawn_space();
  space::Lattice lattice(space);
  for (const std::size_t trials : {25UL, 50UL, 100UL}) {
    Counts counts;
    const Source source{lattice, rough_truth};
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CampaignDraw drawn = draw_campaign(source, trials, seed);
      count_changes(source, drawn, {.confidence = 0.95}, counts);
    }
    CAPTURE(trials, counts.together());
    CHECK(counts.together() > 0.85);
    CHECK(counts.together() < 0.98);
  }
}

/// Minutes, for the figures: NOCTURNE_TEST_CAMPAIGNS of each kind; NOCTURNE_TEST_SPACES names a folder of published
/// spaces (search/replay/space_folder.hpp), whose recorded times are then the truth.
TEST_CASE("survey of what the intervals of a page hold", "[.survey]") {
  const char* const wanted = std::getenv("NOCTURNE_TEST_CAMPAIGNS");
  const std::uint64_t campaigns = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 200;
  const auto space = drawn_space();
  space::Lattice lattice(space);
  for (const double disturbed : {0.0, kDisturbed}) {
    const std::string suffix = disturbed > 0 ? ", disturbed" : "";
    survey("normal" + suffix, {lattice, drawn_truth, Noise::Normal, disturbed}, campaigns);
    survey("recorded" + suffix, {lattice, drawn_truth, Noise::Recorded, disturbed}, campaigns);
  }
  const char* const folder = std::getenv("NOCTURNE_TEST_SPACES");
  if (folder == nullptr) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    const auto recorded = replay::load_space_folder(entry.path());
    if (!recorded) continue;
    space::Lattice points(recorded->space());
    const auto truth = [&](space::Point point) {
      const auto place = recorded->find(points.configuration(point));
      const double time = place ? recorded->rows().objectives[place->row] : std::nan("");
      return std::isfinite(time) ? std::log(time) : std::log(recorded->ordered().back());  // failed: as the slowest
    };
    survey(recorded->name(), {points, truth, Noise::Recorded, kDisturbed}, campaigns);
  }
}

}  // namespace nocturne::search::model
