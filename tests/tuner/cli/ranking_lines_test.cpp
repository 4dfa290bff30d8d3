#include "tuner/cli/output/ranking_lines.hpp"

#include <sstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

tuner::RankedLevel ranked_level(const char* framework, std::int64_t number, double seconds) {
  tuner::RankedLevel level{.level = std::string(framework)};
  level.best.emplace();
  level.best->trial.number = number;
  level.seconds = seconds;
  level.trained = 2;
  return level;
}

tuner::Ranking three_frameworks() {
  tuner::Ranking ranking{.parameter = "framework",
                         .levels = {ranked_level("fast", 7, 100), ranked_level("slow", 3, 150)}};
  ranking.levels[0].standard_error = 2;
  ranking.levels[0].settings.set("batch", std::int64_t{256});
  ranking.levels[1].failed = 4;
  ranking.levels.push_back({.level = std::string("never")});
  return ranking;
}

std::string ranking_page(const tuner::Ranking& ranking) {
  std::ostringstream out;
  cli::Context context;
  context.out = &out;
  context.err = &out;
  db::CampaignSummary campaign;
  campaign.name = "my evening";
  campaign.generation = 2;
  cli::print_ranking(context, campaign, ranking);
  return out.str();
}

}  // namespace

TEST_CASE("a ranking shows the best of each level, how sure that is, and what it is made of", "[cli][ranking]") {
  const std::string page = ranking_page(three_frameworks());
  CHECK_THAT(page, ContainsSubstring("Ranking   by framework, the best trial of each\n") &&
                       ContainsSubstring("2.0 %") && ContainsSubstring("batch=256") && ContainsSubstring("1.50") &&
                       ContainsSubstring("  default\n") && ContainsSubstring("not tried"));
  CHECK(page.find(" \n") == std::string::npos);  // no line ends in spaces
}

TEST_CASE("a ranking of single trials names the command that decides, and a verdict takes its place",
          "[cli][ranking]") {
  auto ranking = three_frameworks();
  CHECK_THAT(ranking_page(ranking),
             ContainsSubstring("nocturne compare 7 3 --campaign 'my evening' --generation 2 --measure") &&
                 ContainsSubstring("nocturne explain 'framework=never' 'my evening' --generation 2") &&
                 !ContainsSubstring("in pairs"));
  ranking.levels[1].gain = tuner::StoredGain{
      .verdict = "slower", .gain_percent = -33.3, .low_percent = -35, .high_percent = -31, .pairs = 6, .epochs = 12};
  CHECK_THAT(ranking_page(ranking), ContainsSubstring("against the first, in pairs") &&
                                        ContainsSubstring("slower -33.3 % (-35.0 to -31.0 %), 6 pairs") &&
                                        !ContainsSubstring("nocturne compare"));
}

TEST_CASE("a ranking for machines has null for what is not known", "[cli][ranking]") {
  const auto levels = cli::ranking_json(three_frameworks()).at("levels");
  CHECK(levels[0].at("settings") == nlohmann::json({{"batch", 256}}));
  CHECK(levels[0].at("standard_error_s") == 2);
  CHECK(levels[1].at("standard_error_s").is_null());
  CHECK(levels[1].at("gain").is_null());
  CHECK(levels[2].at("trial").is_null());
  CHECK(levels[2].at("settings").is_null());
}
