#include "measure/supervisor/cgroup.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "measure/run/sweep.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;

TEST_CASE("where no control group can be made there is none", "[cgroup]") {
  const test::TemporaryFolder folder;  // an ordinary folder: no cgroup.procs appears in it
  CHECK_FALSE(Cgroup::create("x", 1 << 20, {folder.path(), "/nonexistent"}));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(Cgroup::create("x", std::nullopt, {}));
}

namespace {

/// A control group in which groups are looked for first, and by nobody else: whatever sweeps beside this test takes the
/// group of a supervisor that is gone for its own to remove.
class PrivateParent {
 public:
  PrivateParent() {
    for (const auto& parent : cgroup_parents()) {
      folder_ = parent / ("test-" + std::to_string(::getpid()));
      if (::mkdir(folder_.c_str(), 0755) == 0) break;
      folder_.clear();
    }
    if (const char* before = std::getenv("NOCTURNE_CGROUP")) before_ = before;
    if (!folder_.empty()) ::setenv("NOCTURNE_CGROUP", folder_.c_str(), 1);
  }
  PrivateParent(const PrivateParent&) = delete;
  PrivateParent& operator=(const PrivateParent&) = delete;
  ~PrivateParent() {
    if (before_)
      ::setenv("NOCTURNE_CGROUP", before_->c_str(), 1);
    else
      ::unsetenv("NOCTURNE_CGROUP");
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }

 private:
  std::filesystem::path folder_;
  std::optional<std::string> before_;  // what the variable was
};

}  // namespace

TEST_CASE("a control group kills all that joined it and is swept when its supervisor is gone", "[cgroup]") {
  const PrivateParent parent;
  auto group = Cgroup::create(test::process_that_is_gone().to_text(), std::nullopt, cgroup_parents());
  if (!group) SKIP("no control group of version 2 can be made here");
  const auto fork_member = [&] {
    const pid_t member = ::fork();
    if (member == 0) {
      if (!group->join()) ::_exit(1);
      for (;;) ::pause();
    }
    return member;
  };
  const pid_t first = fork_member();
  int status = 0;
  // Joining and killing race; a kill that comes too early is repeated.
  while (::waitpid(first, &status, WNOHANG) == 0) group->kill();
  CHECK(WIFSIGNALED(status));
  CHECK(group->oom_kills() == 0);
  CHECK(sweep().cgroups >= 1);  // others may have left some, too
  CHECK_FALSE(std::filesystem::exists(group->folder()));
}
