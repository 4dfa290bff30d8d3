#include "kernels/onednn/plan/graph.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/onednn/check/every_kind.hpp"

namespace nocturne::onednn {
namespace {

std::size_t row_of(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find(graph.rows(), name, [](const auto& row) { return row.layer->name; });
  return static_cast<std::size_t>(found - graph.rows().begin());
}

}  // namespace

TEST_CASE("the MNIST CNN is a chain whose gates wait for the dropout below", "[onednn]") {
  const Graph graph(networks::kMnistCnn);
  CHECK(graph.is_chain());
  CHECK(graph.gates(row_of(graph, "conv1")));
  CHECK_FALSE(graph.gates(row_of(graph, "conv2")));  // dropout1 does it, behind the pool
  CHECK(graph.gates_for_above(row_of(graph, "dropout1")));
  CHECK(graph.gates_for_above(row_of(graph, "dropout2")));
  CHECK(graph.is_free(static_cast<std::int64_t>(row_of(graph, "conv2"))));
  CHECK_FALSE(graph.is_free(static_cast<std::int64_t>(row_of(graph, "conv1"))));  // its gate looks at its output
  CHECK_FALSE(graph.is_free(-1));
}

TEST_CASE("a buffer with two readers is nobody's to write over, nor an activation gradient that a sum hands on",
          "[onednn]") {
  const Graph graph(kEveryKind);
  CHECK_FALSE(graph.is_chain());
  const std::size_t pool = row_of(graph, "pool"), sum = row_of(graph, "block1.add");
  CHECK(graph.readers(pool).size() == 2);
  CHECK_FALSE(graph.is_free(static_cast<std::int64_t>(pool)));
  CHECK(graph.readers(sum) == std::vector<std::size_t>{row_of(graph, "block2.conv1"), row_of(graph, "block2.add")});
  CHECK(graph.gates(sum));
  CHECK_FALSE(graph.gates(row_of(graph, "norm1")));  // normalisation has a gate of its own
  CHECK(graph.is_free(static_cast<std::int64_t>(row_of(graph, "block1.norm2"))));
  CHECK(graph.gradient_is_shared(row_of(graph, "block1.norm2")));
  CHECK(graph.gradient_is_shared(row_of(graph, "block1.norm3")));
  CHECK_FALSE(graph.gradient_is_shared(row_of(graph, "block2.conv1")));  // its gate wrote a buffer of its own
  CHECK_FALSE(graph.gradient_is_shared(row_of(graph, "norm1")));
}

TEST_CASE("a layer that nobody reads is refused by name", "[onednn]") {
  constexpr networks::Layer layers[] = {
      {.name = "left", .kind = networks::Kind::Convolution, .outputs = 4},
      {.name = "right", .kind = networks::Kind::MaxPool, .kernel = 2, .stride = 2},
      {.name = "dense", .kind = networks::Kind::Dense, .outputs = 10, .input = "left"}};
  const networks::Network network{.name = "torn", .image = {1, 8, 8}, .classes = 10, .layers = layers};
  CHECK_THROWS_AS(Graph(network), std::logic_error);
}

}  // namespace nocturne::onednn
