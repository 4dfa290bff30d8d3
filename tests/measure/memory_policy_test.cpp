// Where a worker's pages are put: what the kernel says of a process that was started so.

#include "measure/supervisor/memory_policy.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <array>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/supervisor/control.hpp"
#include "measure/supervisor/worker_start.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string all_of(int pipe) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(pipe, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(pipe);
  return text;
}

/// What /proc says of a shell's child under this policy: of memory it has not asked a policy for itself.
std::string maps_under(const MemoryPolicy& policy) {
  const test::TemporaryFolder folder;
  SuperviseSpec spec;
  spec.run_id = "memory-policy";
  spec.folder = folder.path().string();
  spec.argv = {"/bin/sh", "-c", "cat /proc/self/numa_maps; true"};
  spec.memory = policy;
  const StartedWorker started = start_worker(spec, "", std::nullopt);
  CAPTURE(started.error);
  REQUIRE(started.pid > 0);
  std::string text = all_of(started.log_pipe);
  ::waitpid(started.pid, nullptr, 0);
  if (text.empty()) SKIP("this kernel shows no numa_maps");
  return text;
}

}  // namespace

TEST_CASE("a worker and what it starts have the memory policy asked for", "[supervisor]") {
  CHECK_THAT(maps_under({}), ContainsSubstring(" default "));
  CHECK_THAT(maps_under({.mode = "bind", .nodes = {0}}), ContainsSubstring(" bind:0 "));
  CHECK_THAT(maps_under({.mode = "interleave", .nodes = {0}}), ContainsSubstring(" interleave:0 "));
  CHECK_THAT(maps_under({.mode = "local"}), ContainsSubstring(" local "));
}

TEST_CASE("a worker whose memory policy cannot be had does not start, and says why", "[supervisor]") {
  const test::TemporaryFolder folder;
  SuperviseSpec spec;
  spec.folder = folder.path().string();
  spec.argv = {"/bin/true"};
  spec.memory = {.mode = "bind", .nodes = {900}};
  const StartedWorker started = start_worker(spec, "", std::nullopt);
  CHECK(started.pid == -1);
  CHECK_THAT(started.error, ContainsSubstring("cannot set the memory policy 'bind' on nodes 900: "));
  ::close(started.log_pipe);
}

TEST_CASE("a memory policy is told to the supervisor as it was asked for", "[supervisor]") {
  SuperviseSpec spec;
  spec.memory = {.mode = "interleave", .nodes = {0, 1}};
  CHECK(spec_from_json(to_json(spec)).memory == spec.memory);
  CHECK_FALSE(spec_from_json(to_json(SuperviseSpec())).memory.is_set());
}

TEST_CASE("a memory policy is written as numactl reads it", "[supervisor]") {
  using Words = std::vector<std::string>;
  CHECK(numactl_words({}).empty());
  CHECK(numactl_words({.mode = "local"}) == Words{"numactl", "--localalloc"});
  CHECK(numactl_words({.mode = "interleave", .nodes = {0, 1}}) == Words{"numactl", "--interleave=0,1"});
  CHECK(numactl_words({.mode = "bind", .nodes = {1}}) == Words{"numactl", "--membind=1"});
  CHECK_FALSE(is_memory_policy({.mode = "bind"}));
  CHECK_FALSE(is_memory_policy({.mode = "local; rm", .nodes = {0}}));
}
