#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

namespace {

NoiseFloorRecord floor_of(const std::string& fingerprint, std::int64_t measured, double sd) {
  return {.fingerprint = fingerprint,
          .workload = "mnist_cnn/mnist/adadelta",
          .steps = 24,
          .figures = {{.method = "duet",
                       .estimator = "minimum",
                       .pairs = 4,
                       .sd = sd,
                       .bias = -0.001,
                       .pair_time = std::chrono::milliseconds(1500)},
                      {.method = "slices",
                       .estimator = "paired",
                       .pairs = 5,
                       .sd = 2 * sd,
                       .bias = 0.002,
                       .pair_time = std::chrono::seconds(3)}},
          .measured_unix_ns = measured};
}

}  // namespace

TEST_CASE("a noise floor is stored by machine and workload, the latest first", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  store.save_fingerprint({.hash = "before", .fields = nlohmann::json::array()});
  store.save_fingerprint({.hash = "now", .fields = nlohmann::json::array()});
  const auto older = floor_of("before", 10, 0.05);
  store.save_noise_floor(older);
  store.save_noise_floor(floor_of("now", 20, 0.01));
  auto known = store.noise_floors("mnist_cnn/mnist/adadelta");
  REQUIRE(known.size() == 2);
  CHECK(known[0].fingerprint == "now");
  CHECK(known[1].fingerprint == "before");
  CHECK(known[1].figures == older.figures);
  CHECK(known[1].steps == 24);
  CHECK(known[1].measured_unix_ns == 10);
  CHECK(store.noise_floors("resnet50/imagenet/sgd").empty());

  // Measured again, without the duet this time: what stood there is gone.
  auto again = floor_of("now", 0, 0.03);
  again.figures.erase(again.figures.begin());
  store.save_noise_floor(again);
  known = store.noise_floors("mnist_cnn/mnist/adadelta");
  REQUIRE(known.size() == 2);
  CHECK(known[0].figures == again.figures);
  CHECK(known[0].measured_unix_ns > 20);
}

TEST_CASE("a comparison remembers how its pairs were measured", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  store.begin_comparison({.campaign = id, .candidate = configuration(2), .baseline = configuration(1)});
  store.begin_comparison({.campaign = id,
                          .candidate = configuration(3),
                          .baseline = configuration(1),
                          .method = "duet",
                          .estimator = "minimum"});
  const auto stored = store.comparisons(id);
  REQUIRE(stored.size() == 2);
  CHECK(stored[0].record.method == "slices");
  CHECK(stored[0].record.estimator == "paired");
  CHECK(stored[1].record.method == "duet");
  CHECK(stored[1].record.estimator == "minimum");
}
