#include "measure/protocol/initial_state.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "measure/protocol/request.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::protocol {
namespace {

using Catch::Matchers::ContainsSubstring;

const InitialState kState{.network = "mnist_cnn",
                          .tensors = {{.name = "a.weights", .shape = {2, 3}, .values = {1, -2, 3.5F, 0, 1e-30F, 7}},
                                      {.name = "a.biases", .shape = {2}, .values = {0, 0}}},
                          .batches = {{5, 0, 59'999}, {1, 2, 3}, {4}}};

struct File {
  test::TemporaryFolder folder;
  std::string path = (folder.path() / "initial").string();

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  [[nodiscard]] std::string refusal() const {
    try {
      static_cast<void>(read_initial_state(path));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
};

// A file with this header, in front of `numbers` zeros.
std::string with_header(const std::string& header, std::size_t numbers = 0) {
  std::string text = "NOCTINIT";
  for (const std::size_t value : {std::size_t{1}, header.size()})
    for (int shift = 0; shift < 32; shift += 8) text.push_back(static_cast<char>((value >> shift) & 0xff));
  return text + header + std::string(4 * numbers, '\0');
}

}  // namespace

TEST_CASE("an initial state is read as it was written", "[gate]") {
  const File file;
  write_initial_state(file.path, kState);
  CHECK(read_initial_state(file.path) == kState);
  // Known bytes: the first value, 1.0F, and the last image, 4, little-endian.
  const std::string bytes = file.bytes();
  const std::size_t first = 16 + static_cast<unsigned char>(bytes[12]) + 256U * static_cast<unsigned char>(bytes[13]);
  CHECK(bytes.substr(first, 4) == std::string("\x00\x00\x80\x3f", 4));
  CHECK(bytes.substr(bytes.size() - 4) == std::string("\x04\x00\x00\x00", 4));
}

TEST_CASE("a file cut short anywhere, or longer, is refused with a sentence", "[gate]") {
  const File file;
  write_initial_state(file.path, kState);
  const std::string whole = file.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    file.write(whole.substr(0, size));
    CAPTURE(size);
    CHECK_THAT(file.refusal(), ContainsSubstring("initial state: " + file.path + ": "));
  }
  file.write(whole + "x");
  CHECK_THAT(file.refusal(), ContainsSubstring("its header promises"));
}

TEST_CASE("no byte of a file can be changed into error", "[gate]") {
  const File file;
  write_initial_state(file.path, kState);
  const std::string whole = file.bytes();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char value : {'\0', '\x7f', '\xff', '9', '"'}) {
      std::string changed = whole;
      changed[place] = value;
      file.write(changed);
      static_cast<void>(file.refusal());  // refused or read: nothing else
    }
  }
}

TEST_CASE("hostile headers are refused before anything is allocated", "[gate]") {
  const File file;
  const auto refusal = [&](const std::string& text) {
    file.write(text);
    return file.refusal();
  };
  CHECK_THAT(refusal("no"), ContainsSubstring("it is no such file"));
  CHECK_THAT(refusal("NOCTINIT\x02" + std::string(7, '\0')), ContainsSubstring("it has version 2"));
  CHECK_THAT(refusal("NOCTINIT" + std::string("\x01\0\0\0\xff\xff\xff\xff", 8)), ContainsSubstring("does not fit"));
  CHECK_THAT(refusal(with_header("[]")), ContainsSubstring("not a JSON object"));
  CHECK_THAT(refusal(with_header("{}")), ContainsSubstring("its header: "));
  const auto tensors = [](const std::string& list) {
    return with_header(R"({"network": "n", "batches": [], "tensors": [)" + list + "]}");
  };
  CHECK_THAT(refusal(tensors(R"({"name": "a", "shape": [9000000000, 9000000000, 9000000000]})")),
             ContainsSubstring("tensor 'a' has an impossible shape"));
  CHECK_THAT(refusal(tensors(R"({"name": "a", "shape": [-1]})")), ContainsSubstring("impossible shape"));
  CHECK_THAT(refusal(tensors(R"({"name": "a", "shape": []})")), ContainsSubstring("impossible shape"));
  CHECK_THAT(refusal(tensors(R"({"name": "a", "shape": [1]}, {"name": "a", "shape": [1]})")),
             ContainsSubstring("tensor 'a' comes twice"));
  CHECK_THAT(refusal(tensors(R"({"name": "a", "shape": [1073741824]}, {"name": "b", "shape": [1073741824]})")),
             ContainsSubstring("more values than a file may hold"));
  CHECK_THAT(refusal(tensors(R"({"name": "a", "shape": [1000000]})")), ContainsSubstring("its header promises"));
  CHECK_THAT(refusal(with_header(R"({"network": "n", "tensors": [], "batches": [0]})")),
             ContainsSubstring("a batch of 0 images"));
  std::filesystem::remove(file.path);
  CHECK_THAT(file.refusal(), ContainsSubstring("cannot be opened"));
}

TEST_CASE("values that are no numbers and images that cannot be are refused", "[gate]") {
  const File file;
  InitialState state = kState;
  state.tensors[0].values[2] = std::numeric_limits<float>::quiet_NaN();
  write_initial_state(file.path, state);
  CHECK_THAT(file.refusal(), ContainsSubstring("tensor 'a.weights' holds a value that is not finite"));
  state = kState;
  state.batches[1][1] = -7;
  write_initial_state(file.path, state);
  CHECK_THAT(file.refusal(), ContainsSubstring("it names image -7"));
  state = kState;
  state.tensors[0].values.pop_back();
  CHECK_THROWS_AS(write_initial_state(file.path, state), std::runtime_error);
  CHECK_THROWS_AS(write_initial_state("/nowhere/initial", kState), std::runtime_error);
}

TEST_CASE("what a request says of optimizer and data is read as it was written", "[protocol]") {
  Request request;
  request.optimizer = "sgd_momentum";
  request.momentum = {.learning_rate = 0.1, .momentum = 0, .weight_decay = 0.5};
  request.label_smoothing = 0.25;
  request.skip_broken = true;
  CHECK(parse_request(to_json(request)).momentum == request.momentum);
  CHECK(parse_request(to_json(request)).label_smoothing == 0.25);
  CHECK(parse_request(to_json(request)).skip_broken);
  CHECK_FALSE(parse_request(to_json(request)).curve);
  for (const auto until : {std::optional<double>(), std::optional(0.985)}) {
    request.curve = CurveRequest{.points_per_epoch = 8, .until = until};
    CHECK(parse_request(to_json(request)).curve == request.curve);
  }
  nlohmann::json beyond = to_json(request);
  beyond["curve"]["until"] = 98.5;
  CHECK_THROWS_AS(parse_request(beyond), std::runtime_error);
  for (const auto& [key, value] : {std::pair{"learning_rate", 0.0}, {"momentum", 1.0}, {"label_smoothing", 1.0}}) {
    nlohmann::json wrong = to_json(request);
    wrong["workload"][key] = value;
    CHECK_THROWS_AS(parse_request(wrong), std::runtime_error);
  }
}

TEST_CASE("a request for the gate is read as it was written", "[gate]") {
  Request request;
  CHECK_FALSE(parse_request(to_json(request)).gate);
  request.gate = GateRequest{.steps = 5, .write = "/there/initial"};
  request.initial = "/here/initial";
  const Request read = parse_request(to_json(request));
  REQUIRE(read.gate);
  CHECK(read.gate->steps == 5);
  CHECK(read.gate->write == "/there/initial");
  CHECK(read.initial == "/here/initial");
  nlohmann::json document = to_json(request);
  document["gate"]["steps"] = 0;
  CHECK_THROWS_AS(parse_request(document), std::runtime_error);
  document["gate"] = 8;
  CHECK_THROWS_AS(parse_request(document), std::runtime_error);
}

}  // namespace nocturne::protocol
