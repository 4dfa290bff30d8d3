#include "kernels/cuda/plan/parameter_table.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>

namespace nocturne::cuda {
namespace {

const ParameterTensor& tensor_of(const ParameterTable& table, std::string_view name) {
  const auto found = std::ranges::find(table.tensors, name, &ParameterTensor::name);
  REQUIRE(found != table.tensors.end());
  return *found;
}

}  // namespace

TEST_CASE("every parameter of a network has its own place in one section", "[cuda]") {
  for (const char* name : {"mnist_cnn", "resnet20", "resnet50"}) {
    const networks::Network& network = networks::find_network(name);
    const ParameterTable table = parameter_table(network);
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    std::int64_t count = 0;
    for (const ParameterTensor& tensor : table.tensors) {
      const ParameterRange& range = table.section(tensor.section);
      CHECK(tensor.offset % 64 == 0);
      CHECK(range.begin <= tensor.offset);
      CHECK(tensor.offset + tensor.count <= range.end);
      places.emplace_back(tensor.offset, tensor.offset + tensor.count);
      count += tensor.count;
    }
    std::ranges::sort(places);
    for (std::size_t i = 1; i < places.size(); ++i) CHECK(places[i - 1].second <= places[i].first);
    CHECK(count == network.parameters);
    CHECK(table.section(Section::Normalisation).end == table.count);
  }
}

TEST_CASE("weight decay's section holds weights and nothing else", "[cuda]") {
  const ParameterTable table = parameter_table(networks::find_network("resnet20"));
  for (const ParameterTensor& tensor : table.tensors) {
    CHECK((tensor.section == Section::Weights) == tensor.name.ends_with(".weights"));
    CHECK((tensor.section == Section::Biases) == tensor.name.ends_with(".biases"));
  }
}

TEST_CASE("weights begin within Glorot's bound, before a normalisation within He's, scales as one", "[cuda]") {
  const ParameterTable table = parameter_table(networks::find_network("mnist_cnn"));
  const ParameterTensor& first = table.tensors.front();
  CHECK(first.name == "conv1.weights");
  CHECK(first.fan_in == 9);
  CHECK(first.fan_out == 32 * 9);
  const std::vector<float> values = initial_values(table, 0, 1);
  CHECK(values.size() == 32 * 9);
  const float bound = 0.14213F;  // sqrt(6 / 297)
  CHECK(std::ranges::all_of(values, [&](float value) { return std::abs(value) <= bound; }));
  CHECK(std::ranges::any_of(values, [&](float value) { return std::abs(value) > 0.9F * bound; }));
  CHECK(initial_values(table, 0, 2) != values);
  const std::vector<float> biases = initial_values(table, 1, 1);
  CHECK(std::ranges::all_of(biases, [](float value) { return value == 0; }));

  const ParameterTable residual = parameter_table(networks::find_network("resnet20"));
  CHECK(tensor_of(residual, "conv1.weights").fan_out == 0);
  CHECK(tensor_of(residual, "norm1.scale").constant == 1);
  CHECK(tensor_of(residual, "norm1.shift").constant == 0);
  CHECK(residual.of_row(1, true)->name == "norm1.scale");
  CHECK(residual.of_row(1, false)->name == "norm1.shift");
  CHECK(residual.of_row(0, false) == nullptr);
}

TEST_CASE("channels last is another order of the same weights", "[cuda]") {
  const ParameterTensor tensor{.name = "w", .shape = {2, 3, 2, 2}, .count = 24};
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  const std::vector<float> moved = to_device_order(tensor, Layout::Nhwc, values);
  CHECK(moved[0] == 0);
  CHECK(moved[1] == 4);  // the second channel of the first pixel
  CHECK(moved[2] == 8);
  CHECK(moved[3] == 1);    // the first channel of the second pixel
  CHECK(moved[12] == 12);  // the second output
  CHECK(from_device_order(tensor, Layout::Nhwc, moved) == values);
  CHECK(to_device_order(tensor, Layout::Nchw, values) == values);
}

TEST_CASE("a dense layer that reads images has their shape, another two sides", "[cuda]") {
  const ParameterTable table = parameter_table(networks::find_network("mnist_cnn"));
  CHECK(tensor_of(table, "dense1.weights").shape == std::vector<std::int64_t>{128, 64, 12, 12});
  CHECK(tensor_of(table, "dense2.weights").shape == std::vector<std::int64_t>{10, 128});
}

TEST_CASE("a state of another network, or with another shape, is refused", "[cuda]") {
  const networks::Network& network = networks::find_network("mnist_cnn");
  const ParameterTable table = parameter_table(network);
  protocol::InitialState state{.network = "mnist_cnn", .tensors = {}, .batches = {}};
  for (std::size_t i = 0; i < table.tensors.size(); ++i) {
    const ParameterTensor& tensor = table.tensors[i];
    state.tensors.push_back({.name = tensor.name, .shape = tensor.shape, .values = initial_values(table, i, 1)});
  }
  CHECK_NOTHROW(check_state(state, network, table));
  protocol::InitialState other = state;
  other.network = "resnet20";
  CHECK_THROWS(check_state(other, network, table));
  other = state;
  std::swap(other.tensors[0].shape[0], other.tensors[0].shape[1]);
  CHECK_THROWS(check_state(other, network, table));
  other = state;
  other.tensors.pop_back();
  CHECK_THROWS(check_state(other, network, table));
  other = state;
  other.tensors.push_back({.name = "more", .shape = {1}, .values = {0}});
  CHECK_THROWS(check_state(other, network, table));
}

}  // namespace nocturne::cuda
