#include "kernels/data/idx_file.hpp"

#include <fstream>
#include <future>
#include <span>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/sha256.hpp"
#include "kernels/data/whole_file.hpp"

#if __has_include(<zlib.h>) && !defined(NOCTURNE_WITHOUT_ZLIB)
#include <zlib.h>
#define NOCTURNE_HAS_ZLIB 1
#endif

namespace nocturne::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Lines of `sha256sum`: digits, two spaces (or a space and a star), the name.
std::string stated_checksum(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/SHA256SUMS";
  std::ifstream file(path);
  if (!file) throw DataError(path + ": is missing: without it " + name + " cannot be checked");
  std::string digits, listed;
  while (file >> digits >> listed) {
    if (!listed.empty() && listed.front() == '*') listed.erase(0, 1);
    if (listed == name) return digits;
  }
  throw DataError(path + ": does not name " + name);
}

struct UnpackedFile {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::size_t size = 0;
  std::string error;  ///< empty: whole
};

#ifdef NOCTURNE_HAS_ZLIB

// A gzip file ends in the size of what it holds, so one buffer and one call do.
UnpackedFile unpack(std::span<const std::uint8_t> packed) {
  constexpr std::size_t kSmallest = 18, kLargestRatio = 1040;  // header and trailer; deflate packs 1032 : 1 at best
  UnpackedFile result;
  if (packed.size() < kSmallest) return {nullptr, 0, "is too short for a gzip file"};
  const std::uint8_t* trailer = packed.data() + packed.size() - 4;
  result.size = std::size_t{trailer[0]} | std::size_t{trailer[1]} << 8 | std::size_t{trailer[2]} << 16 |
                std::size_t{trailer[3]} << 24;
  if (result.size > packed.size() * kLargestRatio) return {nullptr, 0, "is not a whole gzip file"};
  result.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(result.size);
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // the largest window, and a gzip header
  if (inflateInit2(&stream, kGzip) != Z_OK) return {nullptr, 0, "cannot be unpacked: no memory"};
  stream.next_in = const_cast<std::uint8_t*>(packed.data());
  stream.avail_in = static_cast<unsigned>(packed.size());
  stream.next_out = result.bytes.get();
  stream.avail_out = static_cast<unsigned>(result.size);
  const int status = inflate(&stream, Z_FINISH);
  if (status != Z_STREAM_END || stream.avail_out != 0) result.error = "is not a whole gzip file";
  inflateEnd(&stream);
  return result;
}

#else

UnpackedFile unpack(std::span<const std::uint8_t>) {
  throw UnsupportedData("data = mnist: this worker was built without zlib, which unpacks its files");
}

#endif

IdxArray interpret(UnpackedFile unpacked, const std::string& path) {
  const std::uint8_t* bytes = unpacked.bytes.get();
  constexpr std::uint8_t kUnsignedByte = 0x08;
  if (unpacked.size < 4 || bytes[0] != 0 || bytes[1] != 0) throw DataError(path + ": is not an IDX file");
  if (bytes[2] != kUnsignedByte) throw DataError(path + ": holds no unsigned bytes");
  const std::size_t rank = bytes[3], header = 4 + 4 * rank;
  if (unpacked.size < header) throw DataError(path + ": ends within its header");
  IdxArray array;
  std::uint64_t count = 1;  // no larger than the size, which has 32 bits, times 32 bits more
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint8_t* word = bytes + 4 + 4 * i;
    array.dimensions.push_back(std::int64_t{word[0]} << 24 | std::int64_t{word[1]} << 16 | std::int64_t{word[2]} << 8 |
                               std::int64_t{word[3]});
    count *= static_cast<std::uint64_t>(array.dimensions.back());
    if (count > unpacked.size) break;  // before a product of liars overflows
  }
  if (count + header != unpacked.size) throw DataError(path + ": its dimensions do not fit its size");
  array.count = static_cast<std::int64_t>(count);
  array.values = bytes + header;
  array.storage = std::move(unpacked.bytes);
  return array;
}

}  // namespace

IdxArray read_idx(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  const std::string stated = stated_checksum(folder, name);
  Bytes packed;
  read_whole_file(path, packed);
  std::future<std::string> found = std::async(std::launch::async, [&packed] { return sha256(packed); });
  UnpackedFile unpacked = unpack(packed);
  if (const std::string sum = found.get(); sum != stated) {
    throw DataError(path + ": wrong checksum: SHA256SUMS states " + stated + ", the file has " + sum +
                    "; copy the file again");
  }
  if (!unpacked.error.empty()) throw DataError(path + ": " + unpacked.error);
  return interpret(std::move(unpacked), path);
}

}  // namespace nocturne::data
