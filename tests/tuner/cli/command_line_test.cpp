#include "tuner/cli/cli.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "tests/tuner/cli/desk.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/output/format.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::exit_code_table;
using cli::ExitCode;

TEST_CASE("an unknown verb is answered with the nearest one", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"lits"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("unknown verb 'lits', did you mean 'list'?"));
  CHECK(desk.out().empty());
  CHECK(desk.nocturne({"frobnicate"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("--help"));
}

TEST_CASE("an unknown option, a wrong value and a word too many are usage errors that are named", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"best", "--epoch", "3"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("unknown option '--epoch', did you mean '--epochs'?"));
  CHECK(desk.nocturne({"best", "--epochs", "many"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("--epochs: 'many' is not a number above 0"));
  CHECK(desk.nocturne({"best", "--epochs", "0"}) == ExitCode::Usage);
  CHECK(desk.nocturne({"best", "one", "two"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("'two'"));
  CHECK(desk.nocturne({"show"}) == ExitCode::Usage);
  CHECK(desk.nocturne({"show", "-3"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("trial: '-3' is not a whole number, 0 or more"));
  CHECK(desk.nocturne({"list", "trails"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("did you mean 'trials'?"));
  CHECK(desk.nocturne({"list", "trials", "--outcome", "fine"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("there are: failed, ok, unsupported") && ContainsSubstring(", wrong"));
  CHECK(desk.nocturne({"export", "--format", "jsno"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("did you mean 'json'?"));
  CHECK(desk.nocturne({"clean", "--older-than", "soon"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("--older-than: 'soon' is not a duration such as"));
  CHECK(desk.nocturne({"clean", "--max-size", "-5"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("--max-size: '-5' is not a size such as"));
  CHECK(desk.nocturne({"tune", "campaign.json", "--until", "25:00"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("--until: '25:00' is not a time of day"));
}

TEST_CASE("numbers are read whole, and the error says which are allowed", "[cli]") {
  const auto pairs = cli::whole_number(2, 1000);
  CHECK(pairs("2").empty());
  CHECK(pairs("1000").empty());
  for (const char* wrong : {"1", "1001", "", "6x", " 6", "6.0", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_THAT(pairs(wrong), ContainsSubstring(std::string("'") + wrong + "' is not a whole number from 2 to 1000"));
  }
  const auto epochs = cli::positive_number();
  CHECK(epochs("0.5").empty());
  CHECK(epochs("1e2").empty());
  for (const char* wrong : {"0", "-1", "inf", "nan", "1 2", "x"}) CHECK_FALSE(epochs(wrong).empty());
  const auto margin = cli::number_within(0, 50);
  CHECK(margin("0").empty());
  CHECK(margin("50.1") == "'50.1' is not a number from 0 to 50");
  CHECK_FALSE(margin("nan").empty());
}

TEST_CASE("without a verb the help goes to standard error", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({}) == ExitCode::Usage);
  CHECK(desk.out().empty());
  CHECK_THAT(desk.err(), ContainsSubstring("Usage"));
}

TEST_CASE("help shows every verb with an example, and the exit codes", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"--help"}) == ExitCode::Ok);
  const std::string all = desk.out();
  CHECK_THAT(all, ContainsSubstring("130  interrupted"));
  std::set<std::string_view> names;
  for (const cli::Verb& verb : cli::verbs()) {
    const std::string name(verb.name);
    CAPTURE(name);
    CHECK(names.insert(verb.name).second);
    CHECK(all.contains("\n  " + name + " ") != verb.group.empty());
    CHECK_FALSE(verb.summary.empty());
    CHECK(cli::display_width(verb.summary) <= 61);
    CHECK(desk.nocturne({name, "--help"}) == ExitCode::Ok);
    CHECK_THAT(desk.out(), ContainsSubstring("nocturne " + name));
    CHECK_THAT(desk.out(), ContainsSubstring("\nExample"));
    CHECK_THAT(desk.out(), ContainsSubstring("--db"));
  }
}

TEST_CASE("the version names the commit and the libraries", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"--version"}) == ExitCode::Ok);
  CHECK_THAT(desk.out(), ContainsSubstring("commit") && ContainsSubstring("SQLite 3."));
  CHECK(desk.nocturne({"--json", "--version"}) == ExitCode::Ok);
  const auto document = desk.json();
  for (const char* key : {"nocturne", "commit", "compiler", "build_type"}) {
    CHECK_FALSE(document.at(key).get<std::string>().empty());
  }
  for (const char* library : {"SQLite", "CLI11", "Eigen", "fmt", "nlohmann-json"}) {
    CHECK(document.at("libraries").contains(library));
  }
}

TEST_CASE("--help and README have the same table of exit codes, and no number has two meanings", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"--help"}) == ExitCode::Ok);
  std::ifstream file(NOCTURNE_SOURCE_DIR "/tuner/cli/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  std::istringstream table(exit_code_table());
  std::string line;
  std::getline(table, line);
  std::set<int> numbers;
  while (std::getline(table, line)) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK_THAT(desk.out(), ContainsSubstring(line));
    std::istringstream words(line);
    int number = 0;
    std::string name;
    words >> number >> name >> std::ws;
    CHECK(numbers.insert(number).second);
    std::string meaning;
    std::getline(words, meaning);
    CHECK_THAT(readme, ContainsSubstring(fmt::format("| {} | {} | {} |", number, name, meaning)));
  }
  CHECK(numbers.size() == 15);
}

TEST_CASE("an empty path is no place: the usual one is not taken for it", "[cli]") {
  test::Desk desk;
  (void)test::fill(desk);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"clean", "--yes", "--max-size", "1B", "--db", ""},
        {"--db", "", "list"},
        {"list", "--data", ""},
        {"clean", "--yes", "--max-size", "1B", "--data", ""}}) {
    CHECK(desk.nocturne(words) == ExitCode::Usage);
    CHECK_THAT(desk.err(), ContainsSubstring("the path is empty"));
  }
  CHECK(desk.nocturne({"show", "1"}) == ExitCode::Ok);
}

TEST_CASE("the database and --json are understood before and after the verb", "[cli]") {
  test::Desk desk;
  (void)test::fill(desk);
  std::filesystem::rename(desk.data(), desk.folder() / "moved");
  const std::string database = (desk.folder() / "moved" / "nocturne.db").string();
  CHECK(desk.nocturne({"list"}) == ExitCode::NotFound);
  CHECK(desk.nocturne({"--db", database, "list", "--json"}) == ExitCode::Ok);
  CHECK(desk.json().at("campaigns").size() == 1);
  CHECK(desk.nocturne({"--json", "list", "--db", database}) == ExitCode::Ok);
  CHECK(desk.json().at("campaigns").size() == 1);
  CHECK(desk.nocturne({"list", "--json", "--db=" + database}) == ExitCode::Ok);
  CHECK(desk.nocturne({"list", "--json", "--data", (desk.folder() / "moved").string()}) == ExitCode::Ok);
  CHECK(desk.json().at("campaigns").size() == 1);
}

TEST_CASE("a file that is no database of ours is an error of the database", "[cli]") {
  test::Desk desk;
  std::filesystem::create_directories(desk.database());  // a folder
  CHECK(desk.nocturne({"list"}) == ExitCode::Database);
  CHECK_THAT(desk.err(), ContainsSubstring("nocturne.db"));
}

TEST_CASE("reading makes no database and no folder", "[cli]") {
  test::Desk desk;
  for (const char* verb : {"status", "best", "list", "explain", "export", "clean"}) {
    CAPTURE(verb);
    CHECK(desk.nocturne({verb}) == ExitCode::NotFound);
    CHECK_THAT(desk.err(), ContainsSubstring("nocturne tune"));
  }
  CHECK(desk.nocturne({"show", "0"}) == ExitCode::NotFound);
  CHECK(std::filesystem::is_empty(desk.data()));
}

TEST_CASE("every exit code has a name and an explanation of its own", "[cli]") {
  std::set<std::string_view> names;
  for (const ExitCode code :
       {ExitCode::Ok, ExitCode::Negative, ExitCode::Usage, ExitCode::NotFound, ExitCode::Database,
        ExitCode::Unavailable, ExitCode::NoGo, ExitCode::Internal, ExitCode::Refused, ExitCode::NotExecutable,
        ExitCode::NoCommand, ExitCode::Interrupted, ExitCode::Terminated}) {
    CHECK(names.insert(cli::to_text(code)).second);
    CHECK_FALSE(cli::explanation(code).empty());
  }
}
