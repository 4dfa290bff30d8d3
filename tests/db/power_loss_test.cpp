// What the loss of power leaves of the -wal: any beginning of it, or all of it with a hole where a sector never
// arrived.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

constexpr std::size_t kWalHeader = 32;        // https://www.sqlite.org/fileformat2.html, 4.1
constexpr std::size_t kWalFrame = 24 + 4096;  // likewise, with the page
constexpr std::size_t kSector = 512;

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A tuner that was killed with its last results in the -wal.
struct Remains {
  std::string database, wal;
  std::int64_t acknowledged = 0;
};

Remains what_a_kill_leaves() {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child child("tune-and-die", path, {"c", "12"});
  Remains left{.database = {}, .wal = {}, .acknowledged = 12};
  CHECK(child.rest().ends_with("finished 11\n"));
  REQUIRE(child.wait().signal == SIGKILL);
  left.database = read_bytes(path);
  left.wal = read_bytes(path.string() + "-wal");
  REQUIRE(left.wal.size() > kWalHeader + 20 * kWalFrame);
  return left;
}

/// Opens what is left: whole trials from the first on, and it goes on. Returns how many trials there are.
std::int64_t opened_again(const Remains& left, const std::string& wal) {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  write_bytes(path, left.database);
  write_bytes(path.string() + "-wal", wal);
  Store store = open(path);
  CHECK(store.integrity_check().empty());
  const auto handle =
      store.begin_or_resume_campaign({.name = "c", .identity = "identity-of-c", .strategy = "random", .seed = 1});
  store.recover_interrupted(handle.id);
  const auto trials = store.list_trials({.state = TrialState::Finished});
  for (std::size_t i = 0; i < trials.size(); ++i) {
    CHECK(trials[i].trial.number == static_cast<std::int64_t>(i));
    const auto runs = store.load_trial(trials[i].id).runs;
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].record.run.outcome == Outcome::Ok);
    CHECK(runs[0].record.run.samples.size() == 20);
  }
  CHECK(store.exchanges(handle.id).size() == trials.size());
  store.append_event({.campaign = handle.id, .what = "goes on"});
  return std::ssize(trials);
}

}  // namespace

TEST_CASE("a -wal that was cut anywhere gives whole trials, the whole one all that was acknowledged", "[db]") {
  const Remains left = what_a_kill_leaves();
  CHECK(opened_again(left, left.wal) >= left.acknowledged);
  const std::int64_t without = opened_again(left, "");
  CHECK(without < left.acknowledged);  // so the -wal matters
  std::int64_t before = without;
  std::mt19937 random(7);
  const std::size_t frames = (left.wal.size() - kWalHeader) / kWalFrame;
  for (std::size_t i = 1; i <= 40; ++i) {
    // Ever longer, cut between frames and within them.
    const std::size_t frame = i * frames / 40;
    const std::size_t cut = kWalHeader + frame * kWalFrame - (i % 3 == 0 ? 0 : random() % kWalFrame);
    CAPTURE(i, cut);
    const std::int64_t trials = opened_again(left, left.wal.substr(0, cut));
    CHECK(trials >= before);
    before = trials;
  }
  CHECK(before > without + 5);
}

TEST_CASE("a -wal with a sector that never arrived ends before it", "[db]") {
  const Remains left = what_a_kill_leaves();
  std::mt19937 random(11);
  std::int64_t fewest = left.acknowledged;
  for (int i = 0; i < 40; ++i) {
    std::string wal = left.wal;
    const std::size_t sector = random() % (wal.size() / kSector);
    CAPTURE(i, sector);
    // Zeros, or what stood there on the disk before.
    for (std::size_t at = sector * kSector; at < (sector + 1) * kSector; ++at)
      wal[at] = i % 2 == 0 ? '\0' : static_cast<char>(random());
    fewest = std::min(fewest, opened_again(left, wal));
  }
  CHECK(fewest < left.acknowledged / 2);
}
