#include "kernels/machine/disk.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>

#include "kernels/machine/measurement.hpp"

namespace nocturne::machine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock = std::size_t{4} << 20;
constexpr std::size_t kAlignment = 4096;  // what O_DIRECT asks for on every common disk
constexpr int kRepeats = 3;

struct FreeBlock {
  void operator()(unsigned char* memory) const { std::free(memory); }
};
using Block = std::unique_ptr<unsigned char[], FreeBlock>;

Block make_block() {
  void* memory = std::aligned_alloc(kAlignment, kBlock);
  if (memory == nullptr) throw std::bad_alloc();
  return Block(static_cast<unsigned char*>(memory));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

/// A file without a name. -1: errno says why.
int open_nameless(const std::filesystem::path& folder) {
  const int unnamed = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return unnamed;
  std::string name = (folder / "nocturne-machine-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

bool set_direct(int file, bool direct) {
  const int flags = fcntl(file, F_GETFL);
  return flags >= 0 && fcntl(file, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/// Block number `index` begins with its number: a block that is read in the place of another is seen.
void stamp(const Block& block, std::uint64_t index) {
  std::memcpy(block.get(), &index, sizeof index);
}
bool has_stamp(const Block& block, std::uint64_t index) {
  std::uint64_t found = 0;
  std::memcpy(&found, block.get(), sizeof found);
  return found == index;
}

struct DiskPass {
  std::size_t blocks = 0;
  double seconds = 0;
  std::string error{};
};

std::string words_of_errno(const std::string& doing) {
  return doing + ": " + std::strerror(errno);
}

DiskPass write_blocks(int file, const Block& block, std::size_t blocks, Seconds limit) {
  DiskPass passed;
  const auto begin = Clock::now();
  while (passed.blocks < blocks && (passed.blocks == 0 || Clock::now() - begin < limit)) {
    stamp(block, passed.blocks);
    const auto place = static_cast<off_t>(passed.blocks * kBlock);
    if (pwrite(file, block.get(), kBlock, place) != static_cast<ssize_t>(kBlock)) {
      passed.error = words_of_errno("it cannot be written");
      return passed;
    }
    ++passed.blocks;
  }
  if (fsync(file) != 0) passed.error = words_of_errno("it cannot be brought to the disk");
  passed.seconds = std::max(1e-9, Seconds(Clock::now() - begin).count());
  return passed;
}

DiskPass read_blocks(int file, const Block& block, std::size_t blocks, Seconds limit, bool& right) {
  DiskPass passed;
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  const auto begin = Clock::now();
  while (passed.blocks < blocks && (passed.blocks == 0 || Clock::now() - begin < limit)) {
    const auto place = static_cast<off_t>(passed.blocks * kBlock);
    if (pread(file, block.get(), kBlock, place) != static_cast<ssize_t>(kBlock)) {
      passed.error = words_of_errno("it cannot be read back");
      return passed;
    }
    right = right && has_stamp(block, passed.blocks);
    ++passed.blocks;
  }
  passed.seconds = std::max(1e-9, Seconds(Clock::now() - begin).count());
  return passed;
}

Measurement disk_measurement(std::string name) {
  return {.name = std::move(name), .unit = "GB/s", .threads = 1, .kernel = {}, .rate = {}, .absent = {}};
}

std::vector<Measurement> absent_disk(const std::string& why) {
  std::vector<Measurement> both = {disk_measurement("disk_write"), disk_measurement("disk_read")};
  for (Measurement& each : both) each.absent = why;
  return both;
}

void fill_noise(const Block& block) {  // a file system that compresses shall find nothing to compress
  std::mt19937_64 random(1);           // NOLINT(cert-msc51-cpp): the same noise every time
  for (std::size_t i = 0; i < kBlock; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(block.get() + i, &word, sizeof word);
  }
}

}  // namespace

std::vector<Measurement> measure_disk(const std::filesystem::path& folder, Seconds budget, std::size_t bytes) {
  const std::size_t blocks = std::max<std::size_t>(1, (bytes + kBlock - 1) / kBlock);
  struct statvfs room{};
  if (statvfs(folder.c_str(), &room) != 0) return absent_disk(folder.string() + ": " + std::strerror(errno));
  if (static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize) <
      4.0 * static_cast<double>(blocks * kBlock)) {
    return absent_disk(folder.string() + " has too little room to be measured");
  }
  const Descriptor file(open_nameless(folder));
  if (file.get() < 0) return absent_disk(folder.string() + ": " + std::strerror(errno));
  const Block block = make_block();
  fill_noise(block);
  // Some file systems take the flag and then refuse to write.
  const bool direct =
      set_direct(file.get(), true) && pwrite(file.get(), block.get(), kBlock, 0) == static_cast<ssize_t>(kBlock);
  if (!direct) set_direct(file.get(), false);

  std::vector<Measurement> both = {disk_measurement("disk_write"), disk_measurement("disk_read")};
  std::size_t written = blocks;
  for (std::size_t which = 0; which < both.size(); ++which) {
    Measurement& each = both[which];
    each.kernel = direct ? "direct" : "cached";
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      const Seconds limit = budget / (2 * kRepeats);
      const DiskPass passed = which == 0 ? write_blocks(file.get(), block, blocks, limit)
                                         : read_blocks(file.get(), block, written, limit, each.right);
      if (!passed.error.empty()) return absent_disk(folder.string() + ": " + passed.error);
      if (which == 0) written = std::min(written, passed.blocks);
      rates.push_back(static_cast<double>(passed.blocks * kBlock) / passed.seconds / 1e9);
    }
    each.working_set_bytes = static_cast<std::int64_t>(written * kBlock);
    each.sum = static_cast<double>(written);
    each.rate = spread_of(std::move(rates));
  }
  return both;
}

}  // namespace nocturne::machine
