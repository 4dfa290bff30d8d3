#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "search/model/value_of_continuing.hpp"
#include "search/pruned_search.hpp"
#include "search/replay/space_folder.hpp"
#include "tests/search/drawn_campaign.hpp"
#include "tests/search/told.hpp"
#include "tests/tuner/campaign/equal_configurations.hpp"

/// Does another while of search bring what the page says it is expected to? The search itself goes on, and what it then
/// finds is held against what was said before.

namespace nocturne::search {
namespace {

using namespace search::test;

/// Log seconds; nothing: it fails.
using Truth = std::function<std::optional<double>(const space::Configuration&)>;

struct Counts {
  double pages = 0, held = 0, below = 0, above = 0, widths = 0, expected = 0, gained = 0, unknown = 0;
};

void count_gains(const space::Space& space, const Truth& truth, bool noise, std::size_t trials, std::size_t more,
                 std::uint64_t seed, Counts& counts) {
  PrunedSearch search(space, {.seed = seed});
  nocturne::test::RecordedNoise recorded(seed);
  double best = std::numeric_limits<double>::infinity();
  const auto go_on = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto proposals = search.ask(1);
      if (proposals.empty()) return false;
      const auto& configuration = proposals[0].configuration;
      auto value = truth(configuration);
      if (value && noise) *value += recorded.alone();
      if (value) best = std::min(best, *value);
      const auto finished = told(configuration, value ? std::optional(std::exp(*value)) : std::nullopt);
      search.tell(std::array{finished});
    }
    return true;
  };
  if (!go_on(trials)) return;
  search.settle();
  space::Random random(trials);
  auto& models = search.models();
  const auto said = model::expected_gain(models.times(), models.feasibility(), models.lattice(), more, random, 0.95);
  const double before = best;
  go_on(said.trials);
  const double gain = before - best;
  counts.pages += 1;
  counts.unknown += said.upper > std::log(3.0);
  counts.held += gain >= said.lower - 1e-9 && gain <= said.upper + 1e-9;
  counts.below += gain < said.lower - 1e-9;
  counts.above += gain > said.upper + 1e-9;
  counts.widths += said.upper - said.lower;
  counts.expected += said.mean;
  counts.gained += gain;
}

void survey(const std::string& name, const space::Space& space, const Truth& truth, bool noise,
            std::uint64_t campaigns) {
  for (const std::size_t trials : {25UL, 50UL, 100UL}) {
    Counts counts;
    for (std::uint64_t seed = 1; seed <= campaigns; ++seed) count_gains(space, truth, noise, trials, 25, seed, counts);
    fmt::print(
        "{:<24} {} {:>4} trials: held {:5.1f} % (less {:4.1f}, more {:4.1f}), width {:6.3f}, expected {:6.4f}, gained "
        "{:6.4f}, unknown {:4.1f} %\n",
        name, noise ? "noise" : "exact", trials, 100 * counts.held / counts.pages, 100 * counts.below / counts.pages,
        100 * counts.above / counts.pages, counts.widths / counts.pages, counts.expected / counts.pages,
        counts.gained / counts.pages, 100 * counts.unknown / counts.pages);
    std::fflush(stdout);
  }
}

}  // namespace

TEST_CASE("survey of what a search that goes on brings", "[.survey]") {
  const char* const wanted = std::getenv("NOCTURNE_TEST_CAMPAIGNS");
  const std::uint64_t campaigns = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 20;
  const auto space = drawn_space();
  space::Lattice lattice(space);
  const auto drawn = [&](const space::Configuration& configuration) -> std::optional<double> {
    return drawn_truth(*lattice.point_of(configuration));
  };
  for (const bool noise : {false, true}) survey("drawn", space, drawn, noise, campaigns);
  const char* const folder = std::getenv("NOCTURNE_TEST_SPACES");
  if (folder == nullptr) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    const auto recorded = replay::load_space_folder(entry.path());
    if (!recorded) continue;
    const auto truth = [&](const space::Configuration& configuration) -> std::optional<double> {
      const auto place = recorded->find(configuration);
      const double time = place ? recorded->rows().objectives[place->row] : std::nan("");
      return std::isfinite(time) ? std::optional(std::log(time)) : std::nullopt;
    };
    for (const bool noise : {false, true}) survey(recorded->name(), recorded->space(), truth, noise, campaigns);
  }
}

}  // namespace nocturne::search
