#include "kernels/networks/network.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/networks/resnet.hpp"
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

TEST_CASE("ResNet50 has 25,557,032 parameters and the stride in the 3×3 convolution", "[networks]") {
  const Network& network = find_network("resnet50");  // refuses a table with another number
  const auto rows = figures(network);
  const auto row_of = [&](std::string_view name) {
    return *std::ranges::find(rows, name, [](const LayerFigures& row) { return row.layer->name; });
  };
  CHECK(row_of("pool").output == Shape{64, 56, 56});
  CHECK(row_of("stage1.block3.add").output == Shape{256, 56, 56});
  CHECK(row_of("stage2.block1.conv1").output == Shape{128, 56, 56});
  CHECK(row_of("stage2.block1.conv2").output == Shape{128, 28, 28});
  CHECK(row_of("stage4.block3.add").output == Shape{2048, 7, 7});
  CHECK(rows.back().weights + rows.back().biases == 2'049'000);
  std::int64_t forward = 0;
  for (const LayerFigures& row : rows) forward += row.forward_flops;
  CHECK(forward == 8'178'368'512);  // the sum over convolutions and the dense layer by a script of its own
}

TEST_CASE("what a block reads and what goes past it are rows above", "[networks]") {
  const auto rows = figures(kResNet50);
  const auto index_of = [&](std::string_view name) {
    return std::ranges::find(rows, name, [](const LayerFigures& row) { return row.layer->name; }) - rows.begin();
  };
  const auto at = [&](std::string_view name) { return rows[static_cast<std::size_t>(index_of(name))]; };
  CHECK(rows[0].source == -1);
  CHECK(at("stage1.block1.conv4").source == index_of("pool"));
  CHECK(at("stage1.block1.add").source == index_of("stage1.block1.norm3"));
  CHECK(at("stage1.block1.add").source2 == index_of("stage1.block1.norm4"));
  CHECK(at("stage1.block2.conv1").source == index_of("stage1.block1.add"));
  CHECK(at("stage1.block2.add").source2 == index_of("stage1.block1.add"));
  CHECK_FALSE(at("stage1.block2.norm3").layer->relu);
  CHECK(at("stage1.block2.norm2").layer->relu);
  CHECK(at("stage1.block2.add").layer->relu);
  CHECK(at("conv1").backward_flops == at("conv1").forward_flops);
  CHECK(at("stage1.block1.conv4").backward_flops == 2 * at("stage1.block1.conv4").forward_flops);
}

TEST_CASE("ResNet20 is the same code with other numbers: 272,474 parameters", "[networks]") {
  const auto rows = figures(find_network("resnet20"));
  CHECK(rows.size() == 53);
  CHECK(rows.back().input == Shape{64, 1, 1});
  std::int64_t weighted = 0;
  for (const LayerFigures& row : rows) {
    const bool past = row.layer->kernel == 1 && row.layer->kind == Kind::Convolution;
    if (row.layer->kind == Kind::Dense || (row.layer->kind == Kind::Convolution && !past)) ++weighted;
  }
  CHECK(weighted == 20);
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
