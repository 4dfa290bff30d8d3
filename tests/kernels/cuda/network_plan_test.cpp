#include "kernels/cuda/plan/network_plan.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

using networks::Kind;
using networks::Layer;
using networks::Network;

// Who holds the bytes between two moments: written at the first, read at the last.
struct Extent {
  std::string owner;
  std::int64_t begin, end, first, last;
};

bool clash(const Extent& a, const Extent& b) {
  return a.begin < b.end && b.begin < a.end && a.first <= b.last && b.first <= a.last;
}

// What each pass reads, told again in the plainest way: an output until the last backward pass that reads it, a
// activation gradient from the first that writes it until its own row has passed.
std::vector<Extent> extents_of(const NetworkPlan& plan, std::int64_t bytes_per_value) {
  const auto rows = static_cast<std::int64_t>(plan.rows.size());
  std::vector<Extent> extents;
  for (std::int64_t row = 0; row < rows; ++row) {
    const RowPlan& own = plan.rows[static_cast<std::size_t>(row)];
    const std::int64_t bytes = own.figures.output.elements() * plan.batch * bytes_per_value;
    const Kind kind = own.figures.layer->kind;
    const bool reads_itself = own.figures.layer->relu || kind == Kind::MaxPool || kind == Kind::AveragePool;
    std::int64_t last = reads_itself ? 2 * rows - row : row == rows - 1 ? rows : row, written = rows;
    for (std::int64_t reader = row + 1; reader < rows; ++reader) {
      const networks::LayerFigures& figures = plan.rows[static_cast<std::size_t>(reader)].figures;
      if (figures.source != row && figures.source2 != row) continue;
      const bool reads_again = figures.layer->kind != Kind::Add && figures.layer->kind != Kind::Dropout;
      last = std::max(last, reads_again ? 2 * rows - reader : reader);
      written = 2 * rows - reader;
    }
    const std::string name(own.figures.layer->name);
    extents.push_back({name, own.output, own.output + bytes, row, last});
    extents.push_back(
        {name + "'s gradient", own.activation_gradient, own.activation_gradient + bytes, written, 2 * rows - row});
  }
  return extents;
}

constexpr Layer kBlock[] = {
    {.name = "stem", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1, .relu = true},
    {.name = "a", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1, .bias = false},
    {.name = "norm", .kind = Kind::BatchNormalisation},
    {.name = "add", .kind = Kind::Add, .relu = true, .input = "norm", .input2 = "stem"},
    {.name = "dense", .kind = Kind::Dense, .outputs = 10}};
constexpr Network kResidual{.name = "residual", .image = {1, 8, 8}, .classes = 10, .parameters = 0, .layers = kBlock};

const RowPlan& row_of(const NetworkPlan& plan, std::string_view name) {
  for (const RowPlan& row : plan.rows)
    if (row.figures.layer->name == name) return row;
  throw std::out_of_range(std::string(name));
}

}  // namespace

TEST_CASE("no two tensors that are needed at the same moment share bytes, but a sum and its summands", "[cuda]") {
  for (const char* name : {"mnist_cnn", "resnet20", "resnet50"}) {
    const NetworkPlan plan = plan_network(networks::find_network(name), 4, 4);
    const std::vector<Extent> extents = extents_of(plan, 4);
    int clashes = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      CHECK(extents[i].begin % 256 == 0);
      CHECK(extents[i].end <= plan.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool are_gradients = extents[i].owner.ends_with("gradient") && extents[j].owner.ends_with("gradient");
        if (are_gradients && extents[i].begin == extents[j].begin && extents[i].end == extents[j].end)
          continue;  // below
        if (clash(extents[i], extents[j])) ++clashes;
      }
    }
    CAPTURE(name);
    CHECK(clashes == 0);
  }
}

TEST_CASE("a sum's gradient is its summands', and what else reads the way past adds to it", "[cuda]") {
  const NetworkPlan plan = plan_network(kResidual, 2, 4);
  const RowPlan& add = row_of(plan, "add");
  CHECK(add.handing == Handing::Share);
  CHECK(add.handing2 == Handing::Share);
  CHECK(row_of(plan, "norm").activation_gradient == add.activation_gradient);
  CHECK(row_of(plan, "stem").activation_gradient == add.activation_gradient);
  CHECK(row_of(plan, "a").handing == Handing::Accumulate);
  CHECK(row_of(plan, "norm").handing == Handing::Write);
  CHECK(row_of(plan, "stem").handing == Handing::None);
}

TEST_CASE("a summand with a rectifier of its own gates bytes that nobody else reads", "[cuda]") {
  constexpr Layer layers[] = {
      {.name = "stem", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1},
      {.name = "a", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1, .relu = true},
      {.name = "add", .kind = Kind::Add, .input = "a", .input2 = "stem"},
      {.name = "dense", .kind = Kind::Dense, .outputs = 10}};
  const NetworkPlan plan = plan_network({.name = "x", .image = {1, 8, 8}, .classes = 10, .layers = layers}, 2, 4);
  CHECK(row_of(plan, "add").handing == Handing::Share);
  CHECK(row_of(plan, "add").handing2 == Handing::Write);
  CHECK(row_of(plan, "stem").activation_gradient != row_of(plan, "a").activation_gradient);
}

TEST_CASE("an activation gradient that was written by a later reader is added to, not replaced", "[cuda]") {
  constexpr Layer layers[] = {
      {.name = "stem", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1},
      {.name = "a", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1},
      {.name = "add", .kind = Kind::Add, .input = "a", .input2 = "stem"},
      {.name = "b", .kind = Kind::Convolution, .outputs = 8, .kernel = 3, .padding = 1, .input = "stem"},
      {.name = "add2", .kind = Kind::Add, .input = "add", .input2 = "b"},
      {.name = "dense", .kind = Kind::Dense, .outputs = 10}};
  const NetworkPlan plan = plan_network({.name = "x", .image = {1, 8, 8}, .classes = 10, .layers = layers}, 2, 4);
  CHECK(row_of(plan, "b").handing == Handing::Write);
  CHECK(row_of(plan, "add").handing2 == Handing::Accumulate);
  CHECK(row_of(plan, "a").handing == Handing::Accumulate);
}

TEST_CASE("the plan needs little more than what is alive at the worst moment", "[cuda]") {
  for (const char* name : {"mnist_cnn", "resnet50"}) {
    const auto need = describe_need(networks::find_network(name), Settings{.batch = 32});
    const auto bytes = need["activations_bytes"].get<std::int64_t>();
    CAPTURE(name);
    CHECK(bytes >= need["least_activations_bytes"].get<std::int64_t>());
    CHECK(bytes <= need["least_activations_bytes"].get<std::int64_t>() * 11 / 10);
    CHECK(bytes < need["unshared_activations_bytes"].get<std::int64_t>());
  }
}

TEST_CASE("16 bits halve the activations and add copies of the weights", "[cuda]") {
  const Network& network = networks::find_network("resnet50");
  const MemoryNeed wide = memory_need(network, {.precision = Precision::F32, .batch = 16}, 0);
  const MemoryNeed narrow = memory_need(network, {.precision = Precision::F16, .batch = 16}, 0);
  CHECK(narrow.activations * 2 == wide.activations);
  CHECK(narrow.parameters == wide.parameters);  // gradients and copies of 16 bits each, instead of gradients of 32
  CHECK(memory_need(network, {.batch = 16}, 8).activations == wide.activations);
}

TEST_CASE("what cannot be trained is refused by the layer's name", "[cuda]") {
  constexpr Layer layers[] = {{.name = "first", .kind = Kind::BatchNormalisation},
                              {.name = "dense", .kind = Kind::Dense, .outputs = 10}};
  CHECK_THROWS_AS(plan_network({.name = "x", .image = {1, 8, 8}, .classes = 10, .layers = layers}, 2, 4),
                  worker::Unsupported);
}

}  // namespace nocturne::cuda
