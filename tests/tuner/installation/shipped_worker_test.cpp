#include "tuner/installation/own_workers.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tuner/doctor/machine_checks.hpp"
#include "tuner/executor/own_build.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

/// A folder that is gone afterwards, and the variable that names a program in it.
class NamedProgram {
 public:
  NamedProgram() { ::setenv("NOCTURNE_CUDNN_PROGRAM", program().c_str(), 1); }
  NamedProgram(const NamedProgram&) = delete;
  NamedProgram& operator=(const NamedProgram&) = delete;
  ~NamedProgram() { ::unsetenv("NOCTURNE_CUDNN_PROGRAM"); }
  [[nodiscard]] fs::path folder() const { return folder_.path(); }
  [[nodiscard]] fs::path program() const { return folder() / "worker"; }
  void write(const std::string& content) const {
    std::ofstream(program()) << content;
    fs::permissions(program(), fs::perms::owner_all);
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a worker that is built with Nocturne is known by its content", "[tuner][frameworks]") {
  const NamedProgram named;
  const tuner::WorkerRecipe* worker = tuner::find_worker("cudnn");
  REQUIRE(worker != nullptr);
  named.write("one");
  const auto first = tuner::prepare_shipped(*worker, {});
  REQUIRE(first);
  CHECK(first->argv == std::vector<std::string>{named.program().string()});
  CHECK(first->worker.size() == 64);
  CHECK(first->artifact.empty());
  named.write("two");
  CHECK(tuner::prepare_shipped(*worker, {})->worker != first->worker);
}

TEST_CASE("a worker that was not built is unsupported, in a sentence that says what to do", "[tuner][frameworks]") {
  const NamedProgram named;
  const tuner::WorkerRecipe* worker = tuner::find_worker("cudnn");
  CHECK(tuner::find_shipped(*worker).empty());
  const auto prepared = tuner::prepare_shipped(*worker, {});
  REQUIRE_FALSE(prepared);
  CHECK(prepared.error().outcome == space::Outcome::Unsupported);
  const bool gpu = tuner::sees_gpu();
  CHECK_THAT(prepared.error().reason, ContainsSubstring(gpu ? "./quickstart --cuda" : "no NVIDIA GPU"));
  CHECK(tuner::worker_obstacle(*tuner::find_worker("onednn")).empty());
}

TEST_CASE("a GPU is seen by its device", "[tuner][frameworks]") {
  const NamedProgram named;
  CHECK_FALSE(tuner::sees_gpu(named.folder()));
  fs::create_directories(named.folder() / "dev");
  std::ofstream(named.folder() / "dev" / "nvidia0") << "";
  CHECK(tuner::sees_gpu(named.folder()));
}

TEST_CASE("the doctor says what the GPU worker lacks", "[tuner][doctor]") {
  using tuner::Health;
  CHECK(tuner::check_gpu_worker(true, "/bin/nocturne-cudnn").health == Health::Good);
  CHECK(tuner::check_gpu_worker(false, "/bin/nocturne-cudnn").health == Health::Note);
  CHECK(tuner::check_gpu_worker(false, "").health == Health::Note);
  const tuner::Diagnosis lacking = tuner::check_gpu_worker(true, "");
  CHECK(lacking.health == Health::Optional);
  CHECK_THAT(lacking.meaning, ContainsSubstring("./quickstart --cuda"));
}
