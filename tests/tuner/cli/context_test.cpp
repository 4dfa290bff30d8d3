#include "tuner/cli/context.hpp"

#include <chrono>
#include <sstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Matches;
namespace fs = std::filesystem;

namespace {

cli::Context with(std::map<std::string, std::string, std::less<>> environment) {
  cli::Context context;
  context.environment = std::move(environment);
  return context;
}

}  // namespace

TEST_CASE("the data folder is the option, else the variable, else XDG's, else below home", "[cli]") {
  cli::Context context = with({{"HOME", "/home/a"}, {"XDG_DATA_HOME", "/xdg"}, {"NOCTURNE_DATA", "/own/"}});
  context.data_option = "/option";
  CHECK(context.data_folder() == "/option");
  context.data_option.clear();
  CHECK(context.data_folder() == "/own/");
  context.environment.erase("NOCTURNE_DATA");
  CHECK(context.data_folder() == "/xdg/nocturne");
  context.environment["XDG_DATA_HOME"] = "relative";  // to be ignored, says the specification
  CHECK(context.data_folder() == "/home/a/.local/share/nocturne");
  context.environment["XDG_DATA_HOME"] = "";
  CHECK(context.data_folder() == "/home/a/.local/share/nocturne");
  CHECK(context.database() == context.data_folder() / "nocturne.db");
  context.database_option = "/elsewhere/x.db";
  CHECK(context.database() == "/elsewhere/x.db");
  CHECK(context.runs_folder() == "/home/a/.local/share/nocturne/runs");
}

TEST_CASE("who waits for a silent writer is told for whom, until when, and how to end that", "[cli]") {
  std::ostringstream err;
  cli::Context context;
  context.err = &err;
  cli::store_options(context).network.lease.waiting({.database = "/nfs/n.db",
                                                     .lease = "/nfs/n.db-writer",
                                                     .writer = "process 4711 on 'node7'",
                                                     .patience = std::chrono::seconds(20)});
  CHECK_THAT(err.str(), ContainsSubstring("'/nfs/n.db' was left by process 4711 on 'node7'"));
  CHECK_THAT(err.str(), Matches(".*until [0-9]{2}:[0-9]{2}:[0-9]{2} at most.*remove '/nfs/n.db-writer'.*\n"));
}

TEST_CASE("colours are for terminals whose user does not mind", "[cli]") {
  cli::Context context = with({{"TERM", "xterm"}});
  CHECK_FALSE(context.colour_out());
  context.out_is_terminal = true;
  CHECK(context.colour_out());
  CHECK_FALSE(context.colour_err());
  context.environment["NO_COLOR"] = "1";
  CHECK_FALSE(context.colour_out());
  context.environment["NO_COLOR"] = "";  // as if it were not there
  CHECK(context.colour_out());
  context.environment["TERM"] = "dumb";
  CHECK_FALSE(context.colour_out());
}

TEST_CASE("a new data folder is the user's own", "[cli]") {
  const test::TemporaryFolder folder;
  cli::Context context = with({{"NOCTURNE_DATA", (folder.path() / "a" / "b").string()}});
  REQUIRE(context.make_folders());
  CHECK((fs::status(context.data_folder()).permissions() & fs::perms::all) == fs::perms::owner_all);
  CHECK(fs::is_directory(context.runs_folder()));
  CHECK(context.make_folders());  // again

  context.environment["NOCTURNE_DATA"] = "/dev/null/x";
  CHECK_FALSE(context.make_folders());
}
