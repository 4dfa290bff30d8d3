#include "measure/protocol/initial_state.hpp"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace nocturne::protocol {
namespace {

constexpr std::string_view kMagic = "NOCTINIT";
constexpr std::uint32_t kFileVersion = 1;
constexpr std::uint32_t kLongestHeader = 1U << 20;
constexpr std::size_t kPreamble = 16;             // magic, version, length
constexpr std::int64_t kMostNumbers = 1LL << 30;  // 4 GiB: beyond it is a slip, and sums of sizes cannot overflow
constexpr std::size_t kMostDimensions = 8;

[[noreturn]] void refuse_file(const std::string& path, const std::string& what) {
  throw std::runtime_error("initial state: " + path + ": " + what);
}

// Numbers cross as bytes, so that the file is the same on every machine.
void put_number(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xffU));
}

std::uint32_t take_number(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

// Looks at the bits: a worker may be built with -ffast-math.
bool is_number(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) != 0x7f800000U;
}

// What a shape holds; 0 where it is none.
std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  if (shape.empty() || shape.size() > kMostDimensions) return 0;
  std::int64_t count = 1;
  for (const std::int64_t side : shape) {
    if (side < 1 || side > kMostNumbers / count) return 0;
    count *= side;
  }
  return count;
}

struct Header {
  std::string network;
  std::vector<InitialTensor> tensors;  // without values
  std::vector<std::int64_t> batches;
  std::int64_t numbers = 0;  // that must follow
};

Header parse_header(const std::string& path, const std::string& text) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) refuse_file(path, "its header is not a JSON object");
  Header header;
  try {
    header.network = document.at("network").get<std::string>();
    for (const nlohmann::json& each : document.at("tensors")) {
      InitialTensor& tensor = header.tensors.emplace_back();
      tensor.name = each.at("name").get<std::string>();
      tensor.shape = each.at("shape").get<std::vector<std::int64_t>>();
    }
    header.batches = document.at("batches").get<std::vector<std::int64_t>>();
  } catch (const nlohmann::json::exception& error) {
    refuse_file(path, std::string("its header: ") + error.what());
  }
  std::set<std::string> names;
  for (const InitialTensor& tensor : header.tensors) {
    const std::int64_t count = count_of(tensor.shape);
    if (count == 0) refuse_file(path, "tensor '" + tensor.name + "' has an impossible shape");
    if (!names.insert(tensor.name).second) refuse_file(path, "tensor '" + tensor.name + "' comes twice");
    header.numbers += count;
    if (header.numbers > kMostNumbers) refuse_file(path, "it says it holds more values than a file may hold");
  }
  for (const std::int64_t size : header.batches) {
    if (size < 1 || size > kMostNumbers) refuse_file(path, "it has a batch of " + std::to_string(size) + " images");
    header.numbers += size;
    if (header.numbers > kMostNumbers) refuse_file(path, "it says it holds more images than a file may hold");
  }
  return header;
}

std::string header_text(const InitialState& state) {
  nlohmann::json tensors = nlohmann::json::array(), batches = nlohmann::json::array();
  for (const InitialTensor& tensor : state.tensors) tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  for (const auto& batch : state.batches) batches.push_back(batch.size());
  return nlohmann::json{{"network", state.network}, {"tensors", tensors}, {"batches", batches}}.dump();
}

}  // namespace

void write_initial_state(const std::string& path, const InitialState& state) {
  const std::string header = header_text(state);
  if (header.size() > kLongestHeader) refuse_file(path, "its header would be longer than a reader takes");
  const Header checked = parse_header(path, header);
  std::string bytes(kMagic);
  put_number(bytes, kFileVersion);
  put_number(bytes, static_cast<std::uint32_t>(header.size()));
  bytes += header;
  bytes.reserve(bytes.size() + 4 * static_cast<std::size_t>(checked.numbers));
  for (const InitialTensor& tensor : state.tensors) {
    if (static_cast<std::int64_t>(tensor.values.size()) != count_of(tensor.shape))
      refuse_file(path, "tensor '" + tensor.name + "' has not as many values as its shape says");
    for (const float value : tensor.values) put_number(bytes, std::bit_cast<std::uint32_t>(value));
  }
  for (const auto& batch : state.batches)
    for (const std::int32_t image : batch) put_number(bytes, static_cast<std::uint32_t>(image));
  const std::string beside = path + ".writing";  // a reader sees all of it or nothing
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(beside.c_str());
    refuse_file(path, "cannot be written: " + why);
  }
}

InitialState read_initial_state(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) refuse_file(path, std::string("cannot be opened: ") + std::strerror(errno));
  const std::int64_t size = static_cast<std::int64_t>(file.tellg());
  file.seekg(0);
  char preamble[kPreamble] = {};
  file.read(preamble, kPreamble);
  if (!file || std::string_view(preamble, kMagic.size()) != kMagic) refuse_file(path, "it is no such file");
  if (const std::uint32_t version = take_number(preamble + 8); version != kFileVersion)
    refuse_file(path, "it has version " + std::to_string(version) + ", this worker reads 1");
  const std::uint32_t length = take_number(preamble + 12);
  if (length > kLongestHeader || static_cast<std::int64_t>(kPreamble + length) > size)
    refuse_file(path, "its header of " + std::to_string(length) + " bytes does not fit");
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  if (!file) refuse_file(path, "it ends within its header");
  Header header = parse_header(path, text);
  const std::int64_t expected = static_cast<std::int64_t>(kPreamble + length) + 4 * header.numbers;
  if (size != expected)
    refuse_file(path, "it has " + std::to_string(size) + " bytes, its header promises " + std::to_string(expected));
  std::string bytes(static_cast<std::size_t>(4 * header.numbers), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) refuse_file(path, "it cannot be read to its end");

  InitialState state{.network = std::move(header.network), .tensors = std::move(header.tensors), .batches = {}};
  const char* at = bytes.data();
  for (InitialTensor& tensor : state.tensors) {
    tensor.values.resize(static_cast<std::size_t>(count_of(tensor.shape)));
    for (float& value : tensor.values) {
      value = std::bit_cast<float>(take_number(at));
      at += 4;
      if (!is_number(value)) refuse_file(path, "tensor '" + tensor.name + "' holds a value that is not finite");
    }
  }
  for (const std::int64_t count : header.batches) {
    std::vector<std::int32_t>& batch = state.batches.emplace_back(static_cast<std::size_t>(count));
    for (std::int32_t& image : batch) {
      image = static_cast<std::int32_t>(take_number(at));
      at += 4;
      if (image < 0) refuse_file(path, "it names image " + std::to_string(image));
    }
  }
  return state;
}

}  // namespace nocturne::protocol
