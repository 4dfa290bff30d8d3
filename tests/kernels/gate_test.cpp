/// The gate and the worker together: right trainers pass, planted errors do not.

#include "measure/gate/gate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "kernels/onednn/instruction_set.hpp"
#include "tests/kernels/planted_error.hpp"
#include "tests/kernels/recording_reporter.hpp"
#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::onednn {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::filesystem::path& data_folder() {
  static const test::TemporaryFolder folder;
  static const bool written = (test::write_tiny_images(folder.path(), 200, 20), true);
  static_cast<void>(written);
  return folder.path();
}

protocol::Request gate_request(const nlohmann::json& configuration, std::uint64_t seed = 1) {
  protocol::Request request;
  request.data_folder = data_folder().string();
  request.configuration = configuration;
  request.seed = seed;
  request.partial_batch = protocol::PartialBatch::Train;
  request.gate = protocol::GateRequest{.steps = 4, .write = {}};
  return request;
}

space::Run trained(const protocol::Request& request, const Sabotage& sabotage = {}) {
  test::RecordingReporter reporter;
  const int code = run_request(request, reporter, nullptr, sabotage);
  INFO(reporter.run.reason);
  CHECK((code == 0) == (reporter.run.outcome != space::Outcome::Failed));
  return reporter.run;
}

measure::GateComparison compared(const space::Run& reference, const space::Run& candidate,
                                 const char* precision = "f32") {
  const auto result = measure::compare_gate(reference, candidate, measure::gate_tolerances(precision));
  if (!result) FAIL(result.error());
  return *result;
}

}  // namespace

TEST_CASE("layouts, threads and precisions of the right trainer pass the gate", "[onednn][gate]") {
  for (const std::uint64_t seed : {1UL, 2UL, 3UL}) {
    const space::Run reference = trained(gate_request({{"batch", 24}, {"threads", 1}}, seed));
    for (const auto& each :
         {nlohmann::json{{"layout", "plain"}}, nlohmann::json{{"threads", 2}}, nlohmann::json{{"precision", "bf16"}}}) {
      const std::string precision = each.value("precision", "f32");
      if (precision == "bf16" && bf16_support() == "none") continue;
      nlohmann::json configuration = {{"batch", 24}, {"threads", 1}};
      configuration.update(each);
      const auto result = compared(reference, trained(gate_request(configuration, seed)), precision.c_str());
      INFO(configuration.dump() << ", seed " << seed << ": " << result.difference.sentence);
      CHECK(result.agrees);
    }
  }
}

TEST_CASE("the gate trains the epoch's last steps without dropout and reports each", "[onednn][gate]") {
  const space::Run run = trained(gate_request({{"batch", 24}, {"threads", 1}}));
  CHECK(run.samples.size() == 4);
  CHECK(run.samples.front().first_step == 0);
  CHECK(run.norms.size() == 5 * 8);  // before and after each step, of four layers' weights and biases
  CHECK(run.norms.front().steps == 0);
  CHECK(run.norms.front().moved == 0.0);
  CHECK(run.norms.back().steps == 4);
  CHECK(run.epochs.empty());
  // Dropout would draw other values for another seed of its own; a file fixes weights and batches, so nothing is left.
  test::TemporaryFolder folder;
  protocol::Request write = gate_request({{"batch", 24}, {"threads", 1}});
  write.gate->write = (folder.path() / "initial").string();
  static_cast<void>(trained(write));
  protocol::Request read = gate_request({{"batch", 24}, {"threads", 1}}, 99);
  read.initial = write.gate->write;
  const space::Run other = trained(read);
  CHECK(other.norms == run.norms);
  REQUIRE(other.samples.size() == run.samples.size());
  for (std::size_t i = 0; i < run.samples.size(); ++i) CHECK(other.samples[i].loss == run.samples[i].loss);
}

TEST_CASE("an initial state that does not fit is refused with a sentence", "[onednn][gate]") {
  test::TemporaryFolder folder;
  protocol::Request request = gate_request({{"batch", 24}, {"threads", 1}});
  request.gate->write = (folder.path() / "initial").string();
  static_cast<void>(trained(request));
  protocol::Request read = gate_request({{"batch", 24}, {"threads", 1}});
  read.initial = request.gate->write;
  SECTION("another batch") {
    read.configuration["batch"] = 20;
    CHECK_THAT(trained(read).reason, ContainsSubstring("a batch has 24 images, the configuration's have 20"));
  }
  SECTION("another number of steps") {
    read.gate->steps = 3;
    CHECK_THAT(trained(read).reason, ContainsSubstring("it has 4 batches, 3 steps are asked for"));
  }
  SECTION("a file that is none") {
    std::ofstream(*read.initial) << "no such thing";
    CHECK_THAT(trained(read).reason, ContainsSubstring("it is no such file"));
  }
  SECTION("an image that is not there") {
    protocol::InitialState state = protocol::read_initial_state(*read.initial);
    state.batches[0][0] = 200;
    protocol::write_initial_state(*read.initial, state);
    CHECK_THAT(trained(read).reason, ContainsSubstring("image 200 is asked for, the data set has 200"));
  }
  SECTION("a tensor of another shape") {
    protocol::InitialState state = protocol::read_initial_state(*read.initial);
    state.tensors[1].shape = {16};
    state.tensors[1].values.resize(16);
    protocol::write_initial_state(*read.initial, state);
    CHECK_THAT(trained(read).reason, ContainsSubstring("tensor conv1.biases has another shape"));
  }
}

TEST_CASE("more steps than an epoch has are unsupported", "[onednn][gate]") {
  protocol::Request request = gate_request({{"batch", 80}, {"threads", 1}});
  CHECK_THAT(trained(request).reason, ContainsSubstring("an epoch has 3 steps, 4 are asked for"));
}

TEST_CASE("the exact part finds what it can find, and names the layer", "[onednn][gate]") {
  const protocol::Request request = gate_request({{"batch", 24}, {"threads", 1}});
  const space::Run reference = trained(request);
  const auto found = [&](const char* error, const char* precision = "f32") {
    return compared(reference, trained(request, test::planted(error)), precision);
  };
  for (const char* precision : {"f32", "bf16"}) {  // with the room of either
    CAPTURE(precision);
    const auto biases = found("bias_gradient_missing", precision);
    CHECK_FALSE(biases.agrees);
    CHECK(biases.difference.what == "conv2.biases");
    CHECK(biases.difference.step == 1);
    CHECK(biases.difference.size == 1);

    const auto frozen = found("layer_frozen", precision);
    CHECK_FALSE(frozen.agrees);
    CHECK(frozen.difference.what.starts_with("dense1."));

    const auto truncated = found("weights_truncated", precision);
    CHECK_FALSE(truncated.agrees);

    const auto labels = found("labels_shifted", precision);
    CHECK_FALSE(labels.agrees);
    CHECK(labels.difference.step == 4);  // the epoch's last batch

    const auto constants = found("foreign_constants", precision);
    CHECK_FALSE(constants.agrees);
    CHECK(constants.difference.step == 1);
  }
  // Nothing is dropped in the exact part: this is for the statistical one.
  CHECK(found("dropout_left_out").agrees);
}

}  // namespace nocturne::onednn
