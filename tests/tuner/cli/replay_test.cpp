#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "search/replay/load.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

/// Four rows: 8, 2, 4, 16.
std::filesystem::path tiny_space(const test::CliFixture& cli) {
  const auto folder = cli.folder() / "tiny";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "space.json") << R"({"name": "tiny", "constraints": [], "constraints_exact": true,
      "parameters": [{"name": "a", "type": "ordinal", "values": [1, 2, 4, 8]}]})";
  std::ofstream(folder / "results.csv") << "a,objective,status\n1,8,ok\n2,2,ok\n4,4,ok\n8,16,ok\n";
  return folder;
}

/// A campaign over three numbers of threads that `auto` searched, and that measured so many of them.
void search_threads(const test::CliFixture& cli, const std::string& name, std::int64_t measured) {
  db::Store store = cli.open();
  db::CampaignRecord record{.name = name, .identity = name, .strategy = "auto", .fingerprint = {.hash = "one"}};
  record.spec = {{"campaign", name}, {"objective", {{"minimise", "time"}, {"epochs", {1}}, {"primary", 1}}}};
  record.parameters.push_back({.name = "threads", .domain = {{"values", {1, 2, 4}}}, .default_value = 1});
  const auto campaign = store.begin_or_resume_campaign(record);
  for (std::int64_t i = 0; i < measured; ++i) {
    space::Configuration configuration;
    configuration.set("threads", space::Value(std::int64_t{1} << i));
    const auto trial = store.reserve_trial(
        campaign.id, {.number = i, .configuration = configuration, .key = name + std::to_string(i)});
    store.finish_trial(trial, {.outcome = space::Outcome::Ok,
                               .estimate = space::Estimate{.value = 4.0 - static_cast<double>(i), .runs = 1},
                               .parts = space::Parts{.steady_step = 1}});
  }
  store.finish_campaign(campaign.id);
  store.release_campaign(campaign.id);
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("replay prints each strategy beside random search", "[cli]") {
  test::CliFixture cli;
  const auto space = tiny_space(cli).string();
  const auto trace = (cli.folder() / "trace.jsonl").string();
  CHECK(cli.nocturne({"replay", space, "--strategy", "random,exhaustive", "--evaluations", "2", "--repeats", "3",
                      "--seed", "7", "--trace", trace}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("tiny") && ContainsSubstring("random (exact)") &&
                            ContainsSubstring("exhaustive") && ContainsSubstring("seeds 7 to 9"));
  CHECK_THAT(cli.err(), ContainsSubstring("6 of 6 runs"));
  CHECK_THAT(contents(trace),
             ContainsSubstring(R"({"space": "tiny", "tuner": "exhaustive", "seed": 9, "values": [8, 2]})"));
}

TEST_CASE("replay --json has ratios, expectations and scores", "[cli]") {
  test::CliFixture cli;
  const auto space = tiny_space(cli).string();
  CHECK(cli.nocturne({"replay", space, "--strategy", "exhaustive", "--evaluations", "2", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  const auto& cell = document.at("results").at(0).at("best_over_optimum").at(0);
  CHECK(cell.at("evaluations") == 2);
  CHECK(cell.at("ratio") == 1);
  // Six pairs of four: 2 is the best of three, 4 of two, 8 of one.
  CHECK(cell.at("random").get<double>() == Approx((3 * 2 + 2 * 4 + 8) / 6.0 / 2));
  CHECK(cell.at("worse_than_random") == false);
  CHECK(document.at("summary").at(0).at("scores").size() == 2);
  CHECK(document.at("spaces").at(0).at("rows") == 4);
}

TEST_CASE("replay --calibration checks what auto predicts, and needs it", "[cli]") {
  test::CliFixture cli;
  const auto folder = cli.folder() / "line";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "space.json") << R"({"name": "line", "constraints": [], "constraints_exact": true,
      "parameters": [{"name": "a", "type": "integer", "values": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]},
                     {"name": "b", "type": "integer", "values": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}]})";
  std::ofstream results(folder / "results.csv");
  results << "a,b,objective,status\n";
  for (int i = 0; i < 100; ++i) results << i / 10 << "," << i % 10 << "," << 1 + i / 10 + i % 10 << ",ok\n";
  results.close();
  CHECK(cli.nocturne({"replay", folder.string(), "--strategy", "auto", "--evaluations", "50", "--repeats", "2",
                      "--calibration"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("prune @25") && ContainsSubstring("report @50") &&
                            ContainsSubstring("all spaces") && ContainsSubstring("optimum found"));
  CHECK(cli.nocturne({"replay", folder.string(), "--strategy", "auto", "--evaluations", "50", "--repeats", "2",
                      "--calibration", "--json"}) == ExitCode::Ok);
  const auto budget = cli.json().at("calibration").at("spaces").at(0).at("budgets").at(1);
  CHECK(budget.at("evaluations") == 50);
  CHECK(budget.at("runs") == 2);
  CHECK(budget.at("within_90_percent").at("pruning").at("mean").get<double>() > 0.5);
  CHECK(budget.at("optimum").at("found") == 2);

  CHECK(cli.nocturne({"replay", folder.string(), "--strategy", "random", "--calibration"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--calibration needs --strategy auto"));
  CHECK(cli.nocturne({"replay", tiny_space(cli).string(), "--strategy", "auto", "--calibration"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Nothing was predicted"));
}

TEST_CASE("replay takes a campaign of the database as a space", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto database = cli.database().string();
  CHECK(cli.nocturne({"replay", database, "--strategy", "exhaustive", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  const auto& space = document.at("spaces").at(0);
  CHECK(space.at("name") == "evening");
  CHECK(space.at("rows") == 5);  // the reserved trial is no row
  CHECK(space.at("failed") == 1);
  CHECK(space.at("optimum").get<double>() == Approx(3));
  CHECK(cli.nocturne({"replay", database, "--campaign", "morning"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("there is no campaign 'morning'"));
}

TEST_CASE("replay --save writes a campaign as a space that others can replay", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto database = cli.database().string();
  const auto folder = (cli.folder() / "shared").string();
  CHECK(cli.nocturne({"replay", database, "--save", folder}) == ExitCode::Ok);
  CHECK(cli.out().empty());
  CHECK(cli.nocturne({"replay", folder + "/evening", "--strategy", "exhaustive", "--json"}) == ExitCode::Ok);
  const auto space = cli.json().at("spaces").at(0);
  CHECK(space.at("rows") == 5);
  CHECK(space.at("failed") == 1);
  CHECK(space.at("optimum").get<double>() == Approx(3));
  CHECK(cli.nocturne({"replay", database, "--save", folder, "--dummies", "2"}) == ExitCode::Usage);
}

TEST_CASE("a search chose what was measured, unless that is all there is", "[cli]") {
  test::CliFixture cli;
  search_threads(cli, "some", 2);
  search_threads(cli, "all", 3);
  for (const std::string name : {"some", "all"}) {
    CHECK(cli.nocturne({"replay", cli.database().string(), "--campaign", name, "--strategy", "exhaustive", "--json"}) ==
          ExitCode::Ok);
    CHECK(cli.json().at("spaces").at(0).at("chosen_by_search") == (name == "some"));
  }
}

TEST_CASE("passes over one campaign are single times, and their median is what counts", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  (void)test::fill(cli, {.pass = 2, .slowdown = 3});
  (void)test::fill(cli, {.pass = 3, .slowdown = 1.5});
  const auto folder = cli.folder() / "shared";
  CHECK(cli.nocturne({"replay", cli.database().string(), "--save", folder.string()}) == ExitCode::Ok);
  const auto loaded = search::replay::load(std::vector{folder / "evening"});
  REQUIRE(loaded);
  const auto& rows = loaded->front().rows();
  REQUIRE(rows.size() == 5);
  REQUIRE(rows.times_of(0).size() == 3);
  // The default: 1 s and an epoch of 4 s.
  CHECK(rows.times_of(0)[0] == Approx(1 + 4));
  CHECK(rows.times_of(0)[1] == Approx(1 + 12));
  CHECK(rows.times_of(0)[2] == Approx(1 + 6));
  CHECK(rows.objectives[0] == Approx(1 + 6));
  CHECK(rows.times_of(4).empty());  // crashed each time
}

TEST_CASE("replay refuses what it cannot do and says why", "[cli]") {
  test::CliFixture cli;
  const auto space = tiny_space(cli).string();
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "replay");
    CHECK(cli.nocturne(words) == ExitCode::Usage);
    return cli.err();
  };
  CHECK_THAT(refused({space, "--strategy", "exhastive"}), ContainsSubstring("did you mean 'exhaustive'?"));
  CHECK_THAT(refused({space, "--failures", "1.5"}), ContainsSubstring("--failures is a probability"));
  CHECK_THAT(refused({space, "--noise", "nan"}), ContainsSubstring("--noise"));
  CHECK_THAT(refused({space, "--evaluations", "0"}), ContainsSubstring("--evaluations must be at least 1"));
  CHECK_THAT(refused({space, space}), ContainsSubstring("another space 'tiny'"));
  CHECK_THAT(refused({space + "s"}), ContainsSubstring("no such file or folder"));
  CHECK_THAT(refused({}), ContainsSubstring("space is required"));
  CHECK(cli.nocturne({"replay", space, "--repeats", "1", "--trace", (cli.folder() / "no" / "where").string()}) ==
        ExitCode::Unavailable);
}

TEST_CASE("replay --history takes recorded spaces and databases, and says which it cannot read", "[cli]") {
  test::CliFixture cli;
  const auto write = [&](const std::string& name, int valley) {
    std::filesystem::create_directories(cli.folder() / name);
    std::ofstream(cli.folder() / name / "space.json")
        << R"({"name": ")" << name << R"(", "constraints": [], "constraints_exact": true, "parameters": [)"
        << R"({"name": "a", "type": "ordinal", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]},)"
        << R"({"name": "b", "type": "ordinal", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}]})";
    std::ofstream rows(cli.folder() / name / "results.csv");
    rows << "a,b,objective,status\n";
    for (int i = 0; i < 100; ++i) {
      const int a = 1 + i / 10, b = 1 + i % 10;
      rows << a << ',' << b << ',' << 10 + (a - valley) * (a - valley) + 3 * (b - 2) * (b - 2) << ",ok\n";
    }
    return (cli.folder() / name).string();
  };
  const auto here = write("here", 7), elsewhere = write("elsewhere", 8);
  const auto reached = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"replay", here, "--strategy", "auto", "--evaluations", "25", "--repeats", "3",
                                 "--trace", (cli.folder() / "trace").string()});
    CHECK(cli.nocturne(words) == ExitCode::Ok);
    return contents(cli.folder() / "trace");
  };
  const auto without = reached({});
  CHECK(reached({"--history", elsewhere}) != without);
  const auto again = reached({"--history", here, "--history-trials", "60"});
  CHECK(again != without);
  CHECK_THAT(again, ContainsSubstring(R"("values": [10, )"));  // the best of the earlier run comes first
  CHECK(cli.nocturne({"replay", here, "--history", (cli.folder() / "nowhere").string()}) == ExitCode::Usage);
  CHECK(cli.nocturne({"replay", here, "--history", elsewhere, "--history-trials", "0"}) == ExitCode::Usage);
}
