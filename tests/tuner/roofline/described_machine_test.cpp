#include "tuner/roofline/described_machine.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/file_contents.hpp"
#include "tuner/roofline/machine_figures.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a described machine has the figures of its file, and one thread its share of them", "[roofline]") {
  const auto record = tuner::read_described_machine(
      R"({"machine": "big", "cpu_model": "X", "isa": ["avx2", "amx_bf16"], "cpus": 4,
          "peaks_gflops": {"f32": 400, "amx_bf16": 3200}, "bandwidth_gb_s": 100,
          "caches": [{"level": 3, "bytes": 1000000, "sharers": 4, "bandwidth_gb_s": 300}],
          "gpus": [{"name": "G", "peaks_gflops": {"f32": 9000}, "bandwidth_gb_s": 900}]})",
      "big.json");
  REQUIRE(record);
  CHECK(record->key == tuner::described_key("big"));
  CHECK(record->fields.at("system.host") == "big");
  CHECK(record->fields.at("cpu.model") == "X");
  const auto machine = tuner::MachineFigures::from_json(record->figures, record->fields);
  REQUIRE(machine);
  CHECK(machine->cpus == 4);
  CHECK(machine->has_tiles);
  CHECK(machine->rate("fma_f32", 0).value() == Approx(400));
  CHECK(machine->rate("fma_f32", 1).value() == Approx(100));
  CHECK(machine->rate("amx_bf16", 2).value() == Approx(1600));
  CHECK(machine->rate("triad", 0).value() == Approx(100));
  CHECK(machine->rate("triad_l3", 0).value() == Approx(300));
  CHECK(machine->cache_bytes(0, 0) == Approx(1e6));
  REQUIRE(machine->gpus.size() == 1);
  CHECK(machine->of_gpu(0).rate("fma_f32", 0).value() == Approx(9000));
}

TEST_CASE("a description that lacks a figure, or has a word that is none, is refused with its place", "[roofline]") {
  const auto lacking = tuner::read_described_machine(
      R"({"machine": "big", "cpus": 4, "peaks_gflops": {"bf16": 400}, "bandwith_gb_s": 100})", "big.json");
  REQUIRE_FALSE(lacking);
  const std::string text = tuner::to_text(lacking.error());
  CHECK_THAT(text, ContainsSubstring("bandwith_gb_s"));
  CHECK_THAT(text, ContainsSubstring("f32"));
  CHECK_THAT(text, ContainsSubstring("big.json:1"));
}

TEST_CASE("the example of a described machine can be read", "[roofline]") {
  const auto file = std::string(NOCTURNE_SOURCE_DIR) + "/examples/machines/epyc-9654.json";
  const auto text = space::read_file(file);
  REQUIRE(text);
  CHECK(tuner::read_described_machine(*text, file));
}
