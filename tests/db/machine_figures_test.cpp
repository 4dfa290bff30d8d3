#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("a machine's figures are stored by its key, the newest count", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  CHECK_FALSE(store.machine_figures("k"));
  MachineFiguresRecord record{
      .key = "k", .fields = {{"cpu.model", "A"}}, .figures = {{"format", 1}}, .measured_unix_ns = 7};
  store.save_machine_figures(record);
  const auto stored = store.machine_figures("k");
  REQUIRE(stored);
  CHECK(stored->key == "k");
  CHECK(stored->fields == record.fields);
  CHECK(stored->figures == record.figures);
  CHECK(stored->measured_unix_ns == 7);
  CHECK_FALSE(store.machine_figures("another"));

  record.figures = {{"format", 2}};
  record.measured_unix_ns = 0;
  store.save_machine_figures(record);
  CHECK(store.machine_figures("k")->figures == record.figures);
  CHECK(store.machine_figures("k")->measured_unix_ns > 7);
}

TEST_CASE("what a network takes is stored by its name", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  CHECK_FALSE(store.network("mnist_cnn"));
  store.save_network("mnist_cnn", {{"parameters", 1}});
  store.save_network("mnist_cnn", {{"parameters", 2}});
  const auto stored = store.network("mnist_cnn");
  REQUIRE(stored);
  CHECK(stored->at("parameters") == 2);
}

TEST_CASE("a peak figures belongs to its campaign, whose tuner alone writes it", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  CHECK_FALSE(store.peaks(id));
  const nlohmann::json peaks = {{"figures", {{"format", 1}}}};
  store.save_peaks(id, peaks);
  const auto stored = store.peaks(id);
  REQUIRE(stored);
  CHECK(*stored == peaks);
  store.release_campaign(id);
  CHECK(error_of([&] { return store.save_peaks(id, peaks); }).code == ErrorCode::NotOwner);
  store.remove_campaign(id);
  CHECK_FALSE(store.peaks(id));
  CHECK(store.integrity_check().empty());
}
