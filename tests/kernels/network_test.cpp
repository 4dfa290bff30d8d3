#include "kernels/networks/network.hpp"

#include <catch2/catch_test_macros.hpp>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/onednn/describe.hpp"

namespace nocturne::networks {

TEST_CASE("the MNIST CNN has 1,199,882 parameters, layer by layer", "[networks]") {
  const auto rows = figures(find_network("mnist_cnn"));
  REQUIRE(rows.size() == 7);
  CHECK(rows[0].weights + rows[0].biases == 320);
  CHECK(rows[1].weights + rows[1].biases == 18'496);
  CHECK(rows[4].weights + rows[4].biases == 1'179'776);
  CHECK(rows[6].weights + rows[6].biases == 1'290);
  std::int64_t total = 0;
  for (const LayerFigures& row : rows) total += row.weights + row.biases;
  CHECK(total == 1'199'882);
}

TEST_CASE("shapes follow the windows", "[networks]") {
  const auto rows = figures(kMnistCnn);
  CHECK(rows[0].output == Shape{32, 26, 26});
  CHECK(rows[1].output == Shape{64, 24, 24});
  CHECK(rows[2].output == Shape{64, 12, 12});
  CHECK(rows[3].output == rows[2].output);
  CHECK(rows[4].output == Shape{128, 1, 1});
}

TEST_CASE("padding and stride count, as residual networks need them", "[networks]") {
  constexpr Layer layers[] = {
      {.name = "conv", .kind = Kind::Convolution, .outputs = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false},
      {.name = "norm", .kind = Kind::BatchNormalisation, .relu = true},
      {.name = "left", .kind = Kind::Convolution, .outputs = 64, .kernel = 3, .padding = 1, .bias = false},
      {.name = "sum", .kind = Kind::Add, .relu = true, .input = "left", .input2 = "norm"},
      {.name = "mean", .kind = Kind::AveragePool, .kernel = 112},
      {.name = "classes", .kind = Kind::Dense, .outputs = 1000}};
  const Network network{.name = "head", .image = {3, 224, 224}, .classes = 1000, .parameters = 0, .layers = layers};
  const auto rows = figures(network);
  CHECK(rows[0].output == Shape{64, 112, 112});
  CHECK(rows[0].weights == 64 * 3 * 49);
  CHECK(rows[0].biases == 0);
  CHECK(rows[1].weights == 64);
  CHECK(rows[3].output == Shape{64, 112, 112});
  CHECK(rows[5].weights == 64 * 1000);
}

TEST_CASE("a table that does not fit itself is refused", "[networks]") {
  constexpr Layer too_large[] = {{.name = "conv", .kind = Kind::Convolution, .outputs = 4, .kernel = 9}};
  const Network network{.name = "wrong", .image = {1, 8, 8}, .classes = 4, .parameters = 0, .layers = too_large};
  CHECK_THROWS_AS(figures(network), std::logic_error);
  constexpr Layer no_classes[] = {{.name = "dense", .kind = Kind::Dense, .outputs = 5}};
  const Network other{.name = "wrong", .image = {1, 8, 8}, .classes = 4, .parameters = 0, .layers = no_classes};
  CHECK_THROWS_AS(figures(other), std::logic_error);
  CHECK_THROWS_AS(find_network("mnist_rnn"), std::out_of_range);
}

TEST_CASE("the description states 24.0 MFLOP forward and 71.6 in all for an image", "[onednn]") {
  const auto document = onednn::describe(kMnistCnn);
  const auto forward = document.at("forward_flops").get<std::int64_t>();
  const auto backward = document.at("backward_flops").get<std::int64_t>();
  // 2 · (676 · 288 + 576 · 18432 + 9216 · 128 + 128 · 10), and twice that but for the first layer's input difference.
  CHECK(forward == 23'984'896);
  CHECK(forward + backward == 3 * 23'984'896 - 2 * 676 * 288);
  CHECK(document.at("parameters") == 1'199'882);
  CHECK(document.at("layers").size() == 7);
  CHECK(document.at("layers")[1].at("output") == nlohmann::ordered_json({64, 24, 24}));
}

}  // namespace nocturne::networks
