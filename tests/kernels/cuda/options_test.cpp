#include "kernels/cuda/options.hpp"

#include <catch2/catch_test_macros.hpp>

namespace nocturne::cuda {

TEST_CASE("values of the configuration keep their types on the command line", "[cuda]") {
  const Options options = parse_options({"--train", "--data", "synthetic", "--set", "batch=96", "--set",
                                         "cuda_graphs=true", "--set", "precision=bf16", "--steps", "7"});
  CHECK(options.command == Command::Train);
  CHECK(options.request.configuration == nlohmann::json({{"batch", 96}, {"cuda_graphs", true}, {"precision", "bf16"}}));
  CHECK(options.request.steps == 7);
  CHECK(options.request.epochs == 0);
}

TEST_CASE("a survey of the GPUs takes as long as it is given", "[cuda]") {
  CHECK(parse_options({"--machine"}).command == Command::Machine);
  CHECK(parse_options({"--machine"}).survey_seconds == 10);
  CHECK(parse_options({"--machine", "--seconds", "0.5"}).survey_seconds == 0.5);
  CHECK(parse_options({"--machine", "--seconds", "2", "--seconds", "3"}).survey_seconds == 3);
  for (const char* wrong : {"0", "-1", "601", "nan", "5s", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_options({"--machine", "--seconds", wrong}), UsageError);
  }
}

TEST_CASE("wrong usage is refused before anything is loaded", "[cuda]") {
  CHECK_THROWS_AS(parse_options({"--train"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--request", "x"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--set", "=3"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--steps", "-3"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--steps"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--gpu"}), UsageError);
  CHECK(parse_options({"--request", "a", "--events", "b"}).command == Command::Serve);
  CHECK(parse_options({}).command == Command::Help);
}

}  // namespace nocturne::cuda
