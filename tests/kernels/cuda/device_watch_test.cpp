#include "kernels/cuda/device/device_watch.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::cuda {
namespace {

using std::chrono::milliseconds;

DeviceReading reading(double clock, double power, double energy, std::uint64_t bits) {
  DeviceReading result;
  result.sm_clock_mhz = clock;
  result.power_w = power;
  result.energy_j = energy;
  result.throttle_bits = bits;
  return result;
}

}  // namespace

TEST_CASE("readings become sums, spreads and shares", "[cuda]") {
  const std::vector<DeviceReading> told = {reading(1000, 100, 50, 0x4), reading(2000, 300, 80, 0x4 | 0x20),
                                           reading(1500, 200, 110, 0x1)};
  std::size_t next = 0;
  DeviceWatch watch("Some GPU", [&] { return told.at(next++); }, milliseconds(200));
  const auto begin = DeviceWatch::Clock::time_point{};
  watch.look(begin);
  watch.look(begin + milliseconds(199));  // too soon: nobody is asked
  CHECK(next == 1);
  watch.look(begin + milliseconds(200));
  const nlohmann::json fields = watch.summary();
  CHECK(fields["name"] == "Some GPU");
  CHECK(fields["readings"] == 3);
  CHECK(fields["energy_j"].get<double>() == Catch::Approx(60));
  CHECK(fields["sm_clock_mhz"] == nlohmann::json({{"min", 1000.0}, {"mean", 1500.0}, {"max", 2000.0}}));
  CHECK(fields["power_w"] == nlohmann::json({{"mean", 200.0}, {"max", 300.0}}));
  CHECK(fields["throttled"]["power_cap"].get<double>() == Catch::Approx(2.0 / 3));
  CHECK(fields["throttled"]["thermal"].get<double>() == Catch::Approx(1.0 / 3));
  CHECK(fields["throttled"].size() == 2);  // idle is not held back
  CHECK_FALSE(fields.contains("temperature_c"));
}

TEST_CASE("a GPU that tells nothing gives no figures, and one never asked no event", "[cuda]") {
  DeviceWatch silent("Some GPU", [] { return DeviceReading{}; });
  CHECK(silent.summary().is_null());
  silent.look();
  const nlohmann::json fields = silent.summary();
  CHECK_FALSE(fields.contains("energy_j"));
  CHECK_FALSE(fields.contains("power_w"));
  CHECK(fields["throttled"].empty());
}

TEST_CASE("reasons for lower clocks have names, the harmless ones none", "[cuda]") {
  CHECK(throttle_reasons(0x1 | 0x2 | 0x100).empty());
  CHECK(throttle_reasons(0x8 | 0x40) == std::vector<std::string>{"hardware", "hardware_thermal"});
}

TEST_CASE("a management library that is not there, or does not know the GPU, is no error", "[cuda]") {
  CHECK(Nvml::open("ffff:ff:ff.7") == nullptr);
}

}  // namespace nocturne::cuda
