#include "tuner/cli/cli.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/output/format.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::exit_code_table;
using cli::ExitCode;

TEST_CASE("an unknown subcommand is answered with the nearest one", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"lits"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("unknown subcommand 'lits', did you mean 'list'?"));
  CHECK(cli.out().empty());
  CHECK(cli.nocturne({"frobnicate"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--help"));
}

TEST_CASE("what other programs call it is answered with our name for it", "[cli]") {
  test::CliFixture cli;
  for (const auto& [word, hint] : {std::pair{"--max-time", ", did you mean '--wall'?"},
                                   {"--timeout=5m", ", did you mean '--wall'?"},
                                   {"--n-trials", ", did you mean '--trials'?"},
                                   {"--resume", "; the same command goes on where it ended"}}) {
    CAPTURE(word);
    CHECK(cli.nocturne({"tune", word}) == ExitCode::Usage);
    CHECK_THAT(cli.err(), ContainsSubstring(std::string("unknown option '") + word + "'" + hint));
  }
  CHECK(cli.nocturne({"best", "--resume"}) == ExitCode::Usage);  // which never ends
  CHECK_THAT(cli.err(), ContainsSubstring("unknown option '--resume'\n"));
}

TEST_CASE("a command without the dashes before it is named with them", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"tune", "--wall", "5m", "python3", "-u", "it's.py", "--lr", "0.1"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("a command of your own stands behind '--': '") &&
                            ContainsSubstring(" tune --wall 5m -- python3 -u 'it'\\''s.py' --lr 0.1'"));
  CHECK(cli.nocturne({"tune", "train.py"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(),
             ContainsSubstring("train.py is called as a script is") && ContainsSubstring(" tune -- python3 train.py'"));
  CHECK(cli.nocturne({"tune", ".py"}) == ExitCode::Usage);  // all ending
  CHECK_THAT(cli.err(), ContainsSubstring(" tune -- python3 .py'"));
  CHECK(cli.nocturne({"tune", "one.json", "two.json"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("'tune' takes no argument 'two.json'"));
}

TEST_CASE("an unknown option, a wrong value and a word too many are usage errors that are named", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"best", "--epoch", "3"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("unknown option '--epoch', did you mean '--epochs'?"));
  CHECK(cli.nocturne({"best", "--epochs", "many"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--epochs: 'many' is not a number above 0"));
  CHECK(cli.nocturne({"best", "--epochs", "0"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"best", "one", "two"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("'two'"));
  CHECK(cli.nocturne({"show"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"show", "-3"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("trial: '-3' is not a whole number, 0 or more"));
  CHECK(cli.nocturne({"tune", "--wal", "5min", "campaign.json"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("unknown option '--wal', did you mean '--wall'?"));
  CHECK(cli.nocturne({"tune", "--wall", "5min", "python3", "train.py", "--epochs", "3"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("stands behind '--'"));
  CHECK(cli.nocturne({"list", "trails"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("did you mean 'trials'?"));
  CHECK(cli.nocturne({"list", "trials", "--outcome", "fine"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("there are: failed, ok, unsupported") && ContainsSubstring(", wrong"));
  CHECK(cli.nocturne({"export", "--format", "jsno"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("did you mean 'json'?"));
  CHECK(cli.nocturne({"clean", "--older-than", "soon"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--older-than: 'soon' is not a duration such as"));
  CHECK(cli.nocturne({"clean", "--max-size", "-5"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--max-size: '-5' is not a size such as"));
  CHECK(cli.nocturne({"tune", "campaign.json", "--until", "25:00"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--until: '25:00' is not a time of day"));
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

TEST_CASE("without a subcommand the help goes to standard error", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({}) == ExitCode::Usage);
  CHECK(cli.out().empty());
  CHECK_THAT(cli.err(), ContainsSubstring("Usage"));
}

TEST_CASE("help shows every subcommand with an example, and the exit codes", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"--help"}) == ExitCode::Ok);
  const std::string all = cli.out();
  CHECK_THAT(all, ContainsSubstring("130  interrupted"));
  std::set<std::string_view> names;
  for (const cli::Subcommand& subcommand : cli::subcommands()) {
    const std::string name(subcommand.name);
    CAPTURE(name);
    CHECK(names.insert(subcommand.name).second);
    CHECK(all.contains("\n  " + name + " ") != subcommand.group.empty());
    CHECK_FALSE(subcommand.summary.empty());
    CHECK(cli::display_width(subcommand.summary) <= 61);
    CHECK(cli.nocturne({name, "--help"}) == ExitCode::Ok);
    CHECK_THAT(cli.out(), ContainsSubstring("nocturne " + name));
    CHECK_THAT(cli.out(), ContainsSubstring("\nExample"));
    CHECK_THAT(cli.out(), ContainsSubstring("--db"));
  }
}

TEST_CASE("the version names the commit and the libraries", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"--version"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("commit") && ContainsSubstring("SQLite 3."));
  CHECK(cli.nocturne({"--json", "--version"}) == ExitCode::Ok);
  const auto document = cli.json();
  for (const char* key : {"nocturne", "commit", "compiler", "build_type"})
    CHECK_FALSE(document.at(key).get<std::string>().empty());
  for (const char* library : {"SQLite", "CLI11", "Eigen", "fmt", "nlohmann-json"})
    CHECK(document.at("libraries").contains(library));
}

TEST_CASE("--help and README have the same table of exit codes, and no number has two meanings", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"--help"}) == ExitCode::Ok);
  std::ifstream file(NOCTURNE_SOURCE_DIR "/tuner/cli/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  std::istringstream table(exit_code_table());
  std::string line;
  std::getline(table, line);
  std::set<int> numbers;
  while (std::getline(table, line)) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
    CHECK_THAT(cli.out(), ContainsSubstring(line));
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
  test::CliFixture cli;
  (void)test::fill(cli);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"clean", "--yes", "--max-size", "1B", "--db", ""},
        {"--db", "", "list"},
        {"list", "--data", ""},
        {"clean", "--yes", "--max-size", "1B", "--data", ""}}) {
    CHECK(cli.nocturne(words) == ExitCode::Usage);
    CHECK_THAT(cli.err(), ContainsSubstring("the path is empty"));
  }
  CHECK(cli.nocturne({"show", "1"}) == ExitCode::Ok);
}

TEST_CASE("the database and --json are understood before and after the subcommand", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  std::filesystem::rename(cli.data(), cli.folder() / "moved");
  const std::string database = (cli.folder() / "moved" / "nocturne.db").string();
  CHECK(cli.nocturne({"list"}) == ExitCode::NotFound);
  CHECK(cli.nocturne({"--db", database, "list", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").size() == 1);
  CHECK(cli.nocturne({"--json", "list", "--db", database}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").size() == 1);
  CHECK(cli.nocturne({"list", "--json", "--db=" + database}) == ExitCode::Ok);
  CHECK(cli.nocturne({"list", "--json", "--data", (cli.folder() / "moved").string()}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").size() == 1);
}

TEST_CASE("a file that is no database of ours is an error of the database", "[cli]") {
  test::CliFixture cli;
  std::filesystem::create_directories(cli.database());  // a folder
  CHECK(cli.nocturne({"list"}) == ExitCode::Database);
  CHECK_THAT(cli.err(), ContainsSubstring("nocturne.db"));
}

TEST_CASE("reading makes no database and no folder", "[cli]") {
  test::CliFixture cli;
  for (const char* subcommand : {"status", "best", "list", "explain", "export", "clean"}) {
    CAPTURE(subcommand);
    CHECK(cli.nocturne({subcommand}) == ExitCode::NotFound);
    CHECK_THAT(cli.err(), ContainsSubstring("nocturne tune"));
  }
  CHECK(cli.nocturne({"show", "0"}) == ExitCode::NotFound);
  CHECK(std::filesystem::is_empty(cli.data()));
}

TEST_CASE("every exit code has its line", "[cli]") {
  for (const ExitCode code :
       {ExitCode::Ok, ExitCode::Negative, ExitCode::Usage, ExitCode::NotFound, ExitCode::Database,
        ExitCode::Unavailable, ExitCode::PreflightFailed, ExitCode::Internal, ExitCode::Refused,
        ExitCode::NotExecutable, ExitCode::NoCommand, ExitCode::Interrupted, ExitCode::Terminated}) {
    CHECK_THAT(cli::exit_code_table(), ContainsSubstring(fmt::format("\n  {:>3}  ", cli::number(code))));
  }
}
