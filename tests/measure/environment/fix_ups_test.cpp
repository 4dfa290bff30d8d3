#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "measure/artifact/process.hpp"
#include "tests/support/temporary_folder.hpp"

// The fix-ups on small libraries that gcc makes here.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Argv = std::vector<std::string>;

const char* const kCpuInfo = "NOCTURNE_FIX_UP_CPUINFO";

class FixUpFixture {
 public:
  explicit FixUpFixture(const fs::path& below) : folder_(environment() / "lib/python3.9/site-packages" / below) {
    fs::create_directories(folder_);
    for (const char* program : {"/usr/bin/gcc", "/usr/bin/readelf", "/usr/bin/python3"})
      if (!fs::exists(program)) SKIP(program << " is not there");
  }
  [[nodiscard]] fs::path environment() const { return root_.path() / "environment"; }
  [[nodiscard]] const fs::path& folder() const { return folder_; }
  [[nodiscard]] const fs::path& root() const { return root_.path(); }

  /// Links FILE (relative to the root, or absolute) out of C, with more arguments for gcc.
  void link(const fs::path& file, const std::string& source, const Argv& more = {}) const {
    std::ofstream(root() / "source.c") << source;
    Argv argv = {
        "/usr/bin/gcc", "-shared", "-fPIC", "-w", "-o", (root() / file).string(), (root() / "source.c").string()};
    argv.insert(argv.end(), more.begin(), more.end());
    REQUIRE(exit_code(argv) == 0);
  }
  [[nodiscard]] int exit_code(const Argv& argv) const {
    fs::remove(root() / "output");
    const auto result = run_command({.argv = argv, .folder = root()}, root() / "output",
                                    std::chrono::steady_clock::now() + std::chrono::seconds(60));
    UNSCOPED_INFO(said());
    return result.end == CommandEnd::Exited ? result.status : -result.status;
  }
  [[nodiscard]] std::string said() const {
    std::ifstream in(root() / "output");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] int fix(const std::string& name) const {
    return exit_code({"/usr/bin/python3", "-B", NOCTURNE_SOURCE_DIR "/measure/environment/fix_ups/" + name + ".py",
                      environment().string()});
  }
  /// Exit code of a call of the function in a library of the folder.
  [[nodiscard]] int call(const std::string& library, const std::string& function) const {
    return exit_code({"/usr/bin/python3", "-c",
                      "import ctypes, sys; sys.exit(getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])())",
                      (folder_ / library).string(), function});
  }

 private:
  test::TemporaryFolder root_;
  fs::path folder_;
};

}  // namespace

TEST_CASE("stand-ins let PyTorch be loaded without CUDA, and say that there is no device", "[environment][fix_ups]") {
  const FixUpFixture fixture("torch/lib");
  std::ofstream(fixture.root() / "map") << "libcudafake.so.9 { global: cuda*; };\n";
  fixture.link("libcudafake.so.9",
               "int cudaCount(void) { return 0; } const char* cudaGetErrorString(int e) { return \"\"; }",
               {"-Wl,-soname,libcudafake.so.9", "-Wl,--version-script=map"});
  fixture.link("libcublasfake.so", "int cublasDo(void) { return 0; } int cublasTable[4];",
               {"-Wl,-soname,libcublasfake.so.1"});
  fixture.link(fixture.folder() / "libtorch_cuda.so",
               "extern int cudaCount(void), cublasDo(void), cublasTable[4]; extern const char* cudaGetErrorString(int);"
               "int ask(void) { return cudaCount() + cublasDo() + cublasTable[3]; }"
               "int letter(void) { return cudaGetErrorString(3)[0]; }",
               {"libcudafake.so.9", "libcublasfake.so", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN"});
  CHECK(fixture.call("libtorch_cuda.so", "ask") == 1);  // cannot be loaded
  for (int times = 0; times < 2; ++times) {             // may be run again
    CHECK(fixture.fix("cuda_stand_ins") == 0);
    CHECK(fixture.said().starts_with("cuda_stand_ins: 2 libraries with "));
    CHECK(fixture.call("libtorch_cuda.so", "ask") == 200);
    CHECK(fixture.call("libtorch_cuda.so", "letter") == 't');
  }
  CHECK(fs::exists(fixture.folder() / "libcudafake.so.9"));
}

TEST_CASE("where the CUDA wheels are, nothing stands in for them", "[environment][fix_ups]") {
  const FixUpFixture fixture("torch/lib");
  const fs::path real = fixture.folder() / "../../nvidia/fake/lib";
  fs::create_directories(real);
  fixture.link(real / "libcudafake.so.9", "int cudaCount(void) { return 0; }", {"-Wl,-soname,libcudafake.so.9"});
  fixture.link(fixture.folder() / "libtorch_cuda.so",
               "extern int cudaCount(void); int ask(void) { return cudaCount(); }",
               {(real / "libcudafake.so.9").string()});
  CHECK(fixture.fix("cuda_stand_ins") == 0);
  CHECK(fixture.said() == "cuda_stand_ins: nothing to do: every CUDA library that PyTorch asks for is there\n");
  CHECK_FALSE(fs::exists(fixture.folder() / "libcudafake.so.9"));
}

TEST_CASE("a fix-up in the wrong place fails with a sentence", "[environment][fix_ups]") {
  const FixUpFixture fixture("empty");
  CHECK(fixture.fix("cuda_stand_ins") == 1);
  CHECK(fixture.said().starts_with("cuda_stand_ins: there is no PyTorch in "));
  CHECK(fixture.fix("mpi_stand_ins") == 1);
  CHECK(fixture.said().starts_with("mpi_stand_ins: there is no CNTK in "));
}

TEST_CASE("stand-ins let CNTK be loaded without MPI, and end a process that calls it", "[environment][fix_ups]") {
  const FixUpFixture fixture("cntk/libs");
  fixture.link("libmpi.so", "int MPI_Init(void) { return 0; } char ompi_mpi_comm_world[64];",
               {"-Wl,-soname,libmpi.so.12"});
  fixture.link("libmpi_cxx.so", "void ompi_op_set_cxx_callback(void) {} void _ZN3MPI4CommC2Ev(void) {}",
               {"-Wl,-soname,libmpi_cxx.so.1"});
  fixture.link(fixture.folder() / "libCntk.so",
               "extern int MPI_Init(void); extern char ompi_mpi_comm_world[64]; extern void _ZN3MPI4CommC2Ev(void);"
               "extern void ompi_op_set_cxx_callback(void);"
               "int one_process(void) { return ompi_mpi_comm_world[3] + 7; }"
               "int more(void) { _ZN3MPI4CommC2Ev(); ompi_op_set_cxx_callback(); return MPI_Init(); }",
               {"libmpi.so", "libmpi_cxx.so", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN"});
  for (int times = 0; times < 2; ++times) {
    CHECK(fixture.fix("mpi_stand_ins") == 0);
    CHECK(fixture.call("libCntk.so", "one_process") == 7);
    CHECK(fixture.call("libCntk.so", "more") < 0);  // by a signal
    CHECK(fixture.said().contains("MPI is not there"));
  }
}

TEST_CASE("nGraph's library is changed on AMD with AVX-512 only, and once", "[environment][fix_ups]") {
  const FixUpFixture fixture("ngraph_bridge");
  fixture.link(fixture.folder() / "libmkldnn.so.0",
               "__attribute__((noinline)) static int _ZN6mkldnn30is_winograd_faster_than_directE(int x)"
               "{ __asm__ volatile(\"\"); return 45 + x; } int weigh(void) { volatile int x = 0;"
               "return _ZN6mkldnn30is_winograd_faster_than_directE(x); }",
               {"-O1"});
  const std::string amd = "vendor_id : AuthenticAMD\nflags : fpu avx2 avx512f\n";
  const auto fix_on = [&](const std::string& processor) {
    std::ofstream(fixture.root() / "cpuinfo") << processor;
    setenv(kCpuInfo, (fixture.root() / "cpuinfo").c_str(), 1);
    const int code = fixture.fix("ngraph_amd_winograd");
    unsetenv(kCpuInfo);
    return code;
  };
  for (const char* other :
       {"vendor_id : GenuineIntel\nflags : avx512f\n", "vendor_id : AuthenticAMD\nflags : avx2\n"}) {
    CHECK(fix_on(other) == 0);
    CHECK(fixture.call("libmkldnn.so.0", "weigh") == 45);
  }
  CHECK(fix_on(amd) == 0);
  CHECK(fixture.said() == "ngraph_amd_winograd: 1 functions answer no now, 0 did before\n");
  CHECK(fixture.call("libmkldnn.so.0", "weigh") == 0);
  CHECK(fix_on(amd) == 0);
  CHECK(fixture.said() == "ngraph_amd_winograd: 0 functions answer no now, 1 did before\n");
  fixture.link(fixture.folder() / "libmkldnn.so.0", "int another(void) { return 1; }");
  CHECK(fix_on(amd) == 1);
  CHECK(fixture.said().contains("another version, which this fix-up does not know"));
}

}  // namespace nocturne::measure
