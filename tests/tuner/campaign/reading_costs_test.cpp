// What questions about a campaign cost, in rows that SQLite hands out: the same on any machine, however busy.

#include <sqlite3.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <sstream>

#include "tests/support/large_campaign.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tuner/cli/cli.hpp"

namespace nocturne::test {
namespace {

std::int64_t rows_read = 0;

int count_row(unsigned, void*, void*, void*) {
  ++rows_read;
  return 0;
}

int watch(sqlite3* database, const char**, const struct sqlite3_api_routines*) {
  return sqlite3_trace_v2(database, SQLITE_TRACE_ROW, count_row, nullptr);
}

/// While it lives, each connection that is opened counts its rows.
struct Watching {
  Watching() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch)); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch)); }
};

/// A campaign of so many trials of which none failed.
struct Night {
  explicit Night(std::size_t trials) {
    auto store = db::Store::open(file(), db::Mode::ReadWrite);
    (void)test::fill(store, {.trials = trials, .samples = 2, .failures = false});
  }
  [[nodiscard]] std::filesystem::path file() const { return folder.path() / "night.db"; }
  /// Rows that `nocturne WORDS` reads.
  [[nodiscard]] std::int64_t rows_of(std::vector<std::string> words) const {
    std::ostringstream out, err;
    cli::Context context;
    context.out = &out;
    context.err = &err;
    words.insert(words.end(), {"--db", file().string()});
    const Watching watching;
    rows_read = 0;
    CHECK(cli::run_command_line(words, context) == cli::ExitCode::Ok);
    return rows_read;
  }

  test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("questions about what came out read as many rows of a long campaign as of a short one", "[campaign]") {
  const Night small(40), large(160);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"status", "--json"},
                                             {"list"},
                                             {"list", "trials", "--limit", "5"},
                                             {"list", "trials", "--sort", "value", "--limit", "5"},
                                             {"best", "--by", "framework"},
                                             {"best", "--by", "batch", "--epochs", "3"}}) {
    CAPTURE(words);
    const auto rows = small.rows_of(words);
    CHECK(rows > 0);
    CHECK(rows < 110);
    CHECK(large.rows_of(words) == rows);
  }
}

TEST_CASE("what was learnt once is asked for again at a few rows a trial", "[campaign]") {
  const Night night(160);
  for (const std::string subcommand : {"best", "model"}) {
    CAPTURE(subcommand);
    const auto first = night.rows_of({subcommand});
    const auto again = night.rows_of({subcommand});
    // Once over what the answer rests on (trials, asks, tells, runs), instead of that twice and all of it learnt.
    CHECK(again < 160 * 5);
    CHECK(2 * again < first);
  }
}

}  // namespace nocturne::test
