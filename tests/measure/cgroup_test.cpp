#include "measure/supervisor/cgroup.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "measure/run/sweep.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;

TEST_CASE("where no control group can be made there is none", "[cgroup]") {
  const test::TemporaryFolder folder;  // an ordinary folder: no cgroup.procs appears in it
  CHECK_FALSE(Cgroup::create("x", 1 << 20, {folder.path(), "/nonexistent"}));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(Cgroup::create("x", std::nullopt, {}));
}

TEST_CASE("a control group kills all that joined it and is swept when its supervisor is gone", "[cgroup]") {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  ProcessIdentity gone = ProcessIdentity::of_this_process();
  gone.pid = dead;
  auto group = Cgroup::create(gone.to_text(), std::nullopt, cgroup_parents());
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
