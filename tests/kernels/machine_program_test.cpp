/// nocturne-machine: its options, and the program from outside.

#include <sys/wait.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "kernels/machine/options.hpp"

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

TEST_CASE("options are read, and wrong ones refused in a sentence", "[machine]") {
  const Options options = std::get<Options>(parse_options({"--seconds", "0.5", "--json", "--disk", "d"}));
  CHECK(options.plan.budget.count() == 0.5);
  CHECK(options.plan.disk == "d");
  CHECK(std::get<std::string>(parse_options({"--disk"})) == "--disk needs a folder");
  CHECK(options.json);
  CHECK(std::get<Options>(parse_options({"--only", "fma_f32,triad"})).plan.only ==
        std::vector<std::string>{"fma_f32", "triad"});
  for (const char* wrong : {"", ",", "triad,", "a,,b"})
    CHECK(std::holds_alternative<std::string>(parse_options({"--only", wrong})));
  CHECK(std::get<std::string>(parse_options({"--only"})) == "--only needs names of figures");
  CHECK(std::get<std::string>(parse_options({"--fast"})) == "unknown option '--fast'; see --help");
  CHECK(std::get<std::string>(parse_options({"--seconds"})) == "--seconds needs a number");
  for (const char* wrong : {"0", "-1", "x", "1x", "nan", "inf", ""})
    CHECK(std::holds_alternative<std::string>(parse_options({"--seconds", wrong})));
}

TEST_CASE("the program measures and prints JSON", "[machine]") {
  const Answer answer = ask("--json --seconds 0.01");
  CHECK(answer.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(answer.output);
  CHECK(report["format"] == 1);
  CHECK(report["gpus"].empty());
  CHECK(report["cpus"] >= 1);
  bool one_thread = false, latency = false, tiles = false;
  for (const auto& measurement : report["measurements"]) {
    tiles = tiles || measurement["name"] == "amx_bf16";
    if (measurement.contains("absent")) continue;
    CHECK(measurement["right"] == true);
    CHECK(measurement["tries"] >= 1);
    CHECK(measurement["median"] > 0.0);
    CHECK(measurement["minimum"] <= measurement["median"]);
    CHECK(measurement["repeats"] >= 5);
    one_thread = one_thread || measurement["threads"] == 1;
    latency = latency || (measurement["name"] == "latency" && measurement["unit"] == "ns");
  }
  CHECK(one_thread);
  CHECK(latency);
  CHECK(tiles);  // measured, or absent with its reason
}

TEST_CASE("the program measures only what it is asked for", "[machine]") {
  const Answer answer = ask("--json --seconds 0.01 --only fma_f32");
  CHECK(answer.exit_code == 0);
  const nlohmann::json report = nlohmann::json::parse(answer.output);
  CHECK_FALSE(report["measurements"].empty());
  for (const auto& measurement : report["measurements"]) CHECK(measurement["name"] == "fma_f32");
  const Answer none = ask("--json --only fma_f33");
  CHECK(none.exit_code == 2);
  CHECK(none.output.find("--only") != std::string::npos);
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
