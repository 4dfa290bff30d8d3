#include <sys/wait.h>

#include <array>
#include <atomic>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "kernels/machine/arithmetic.hpp"
#include "kernels/machine/bandwidth.hpp"
#include "kernels/machine/options.hpp"
#include "kernels/machine/report.hpp"
#include "kernels/machine/spread.hpp"
#include "kernels/machine/team.hpp"

namespace nocturne::machine {
namespace {

struct Answer {
  std::string output;
  int exit_code = -1;
};

Answer ask(const std::string& arguments) {
  Answer answer;
  FILE* pipe = popen((std::string(NOCTURNE_MACHINE_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer;
  while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) answer.output.append(buffer.data(), got);
  const int status = pclose(pipe);
  answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

}  // namespace

TEST_CASE("each peak loop computes what it must", "[machine]") {
  volatile float one = 1;
  std::vector<ArithmeticKernel> kernels = f32_kernels();
  CHECK(kernels.back().name == "generic");
  for (const ArithmeticKernel& kernel : bf16_kernels()) kernels.push_back(kernel);
  for (const ArithmeticKernel& kernel : kernels) {
    CAPTURE(kernel.name);
    CHECK(kernel.flops > 0);
    for (const std::int64_t iterations : {std::int64_t{64}, std::int64_t{1000}}) {
      CHECK(kernel.run(iterations, one) == kernel.expected(iterations));
    }
    CHECK(kernel.run(64, 0.5F) != kernel.expected(64));  // the sum depends on the loop's input
  }
}

TEST_CASE("the triad writes what it must, and a wrong element is seen", "[machine]") {
  TriadArrays arrays(5001);  // not a multiple of a vector
  arrays.fill();
  CHECK_FALSE(arrays.is_right(3));
  arrays.run(3);
  CHECK(arrays.is_right(3));
  CHECK_FALSE(arrays.is_right(2));
  CHECK(arrays.bytes_moved() == 60012);
}

TEST_CASE("the triad's arrays are larger than a cache and smaller than memory", "[machine]") {
  CHECK(triad_elements(1) >= 4096);
  CHECK(triad_elements(4) <= triad_elements(1));
}

TEST_CASE("a team prepares, meets, works, and each member is called once", "[machine]") {
  const std::vector<int> cpus(3, allowed_cpus().front());
  std::atomic<int> prepared = 0, worked = 0, early = 0;
  const auto took = time_together(
      cpus, [&](std::size_t) { ++prepared; },
      [&](std::size_t) {
        if (prepared != 3) ++early;
        ++worked;
      });
  CHECK(prepared == 3);
  CHECK(worked == 3);
  CHECK(early == 0);
  CHECK(took.count() > 0);
}

TEST_CASE("the spread is that of the quartiles", "[machine]") {
  const Spread spread = spread_of({5, 1, 3, 2, 4});
  CHECK(spread.median == 3);
  CHECK(spread.minimum == 1);
  CHECK(spread.maximum == 5);
  CHECK(spread.relative_spread == Catch::Approx((4.0 - 2.0) / 3.0));
  CHECK(spread.repeats == 5);
  CHECK(spread_of({1, 2}).median == Catch::Approx(1.5));
  CHECK(spread_of({}).repeats == 0);
}

TEST_CASE("options are read, and wrong ones refused in a sentence", "[machine]") {
  const Options options = std::get<Options>(parse_options({"--seconds", "0.5", "--json"}));
  CHECK(options.budget.count() == 0.5);
  CHECK(options.json);
  CHECK(std::get<std::string>(parse_options({"--fast"})) == "unknown option '--fast'; see --help");
  CHECK(std::get<std::string>(parse_options({"--seconds"})) == "--seconds needs a number");
  for (const char* wrong : {"0", "-1", "x", "1x", "nan", "inf", ""}) {
    CHECK(std::holds_alternative<std::string>(parse_options({"--seconds", wrong})));
  }
}

TEST_CASE("what was not measured says why", "[machine]") {
  const nlohmann::json report =
      to_json({Measurement{.name = "fma_bf16", .unit = "GFLOP/s", .absent = "no such thing"}});
  CHECK(report["measurements"][0]["absent"] == "no such thing");
  CHECK_FALSE(report["measurements"][0].contains("median"));
}

TEST_CASE("the program measures and prints JSON", "[machine]") {
  const Answer answer = ask("--json --seconds 0.01");
  CHECK(answer.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(answer.output);
  CHECK(report["format"] == 1);
  bool one_thread = false;
  for (const auto& measurement : report["measurements"]) {
    if (measurement.contains("absent")) continue;
    CHECK(measurement["right"] == true);
    CHECK(measurement["median"] > 0.0);
    CHECK(measurement["minimum"] <= measurement["median"]);
    CHECK(measurement["repeats"] >= 5);
    one_thread = one_thread || measurement["threads"] == 1;
  }
  CHECK(one_thread);
}

TEST_CASE("the program explains itself and refuses nonsense", "[machine]") {
  const Answer help = ask("--help");
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("--seconds") != std::string::npos);
  const Answer wrong = ask("--seconds nonsense");
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.output.find("'nonsense'") != std::string::npos);
}

}  // namespace nocturne::machine
