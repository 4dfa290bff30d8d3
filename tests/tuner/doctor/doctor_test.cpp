#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "measure/run/slot.hpp"
#include "space/digest.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/doctor/machine_checks.hpp"
#include "tuner/doctor/place_checks.hpp"

using namespace nocturne;
using tuner::Diagnosis;
using tuner::Health;
using namespace nocturne::tuner;
namespace fs = std::filesystem;

namespace {

measure::MachineFacts good_machine() {
  measure::MachineFacts facts;
  facts.cpu_model = "A processor";
  facts.isa = {"avx2", "avx512_bf16", "avx512f", "sse4_1"};
  facts.cores = facts.threads = 4;
  facts.allowed_cpus = {0, 1, 2, 3};
  facts.memory_bytes = std::int64_t{16} << 30;
  facts.governor = "performance";
  facts.transparent_huge_pages = "madvise";
  facts.onednn = "3.2.0";
  facts.compilers = {{"clang++-19", "/usr/bin/clang++-19", ""}, {"g++", "/usr/bin/g++", ""}};
  facts.allocators = {"glibc", "glibc-large", "jemalloc", "tcmalloc"};
  return facts;
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a good machine has nothing to complain about", "[doctor]") {
  const auto facts = good_machine();
  for (const Diagnosis& finding :
       {check_processor(facts), check_instructions(facts), check_memory(facts), check_compilers(facts, true),
        check_headers(facts, true), check_onednn(facts, true), check_allocators(facts), check_steadiness(facts),
        check_huge_pages(facts), check_quiet(facts, {})}) {
    CAPTURE(finding.subject, finding.found, finding.meaning);
    CHECK(finding.health == Health::Good);
    CHECK(finding.packages.empty());
  }
}

TEST_CASE("what is missing is said with what follows and what to install", "[doctor]") {
  auto facts = good_machine();
  facts.compilers.clear();
  CHECK(check_compilers(facts, false).health == Health::Bad);
  CHECK(check_compilers(facts, false).packages == std::vector<std::string>{"g++"});
  facts.compilers = {{"g++", "/usr/bin/g++", ""}};
  CHECK(check_compilers(facts, false).health == Health::Optional);
  CHECK(check_compilers(facts, false).packages == std::vector<std::string>{"clang-19"});
  facts.compilers = {{"clang++", "/usr/bin/clang++", ""}};
  CHECK(check_compilers(facts, false).health == Health::Bad);
  facts.allocators = {"glibc", "glibc-large"};
  CHECK(check_allocators(facts).health == Health::Optional);
  CHECK(check_allocators(facts).packages == std::vector<std::string>{"libjemalloc2", "libtcmalloc-minimal4"});
  facts.onednn.clear();
  CHECK(check_onednn(facts, false).health == Health::Bad);
}

TEST_CASE("without a compiler campaigns run with the worker that came along, and the doctor says what cannot vary",
          "[doctor]") {
  auto facts = good_machine();
  facts.compilers.clear();
  facts.onednn.clear();
  const std::vector<Diagnosis> findings = {check_compilers(facts, true), check_onednn(facts, true)};
  CHECK(tuner::can_measure(findings));
  CHECK_THAT(findings[0].meaning, ContainsSubstring("came along") && ContainsSubstring("march"));
  CHECK(tuner::install_line(findings) == "apt-get install g++");
  CHECK(check_headers(facts, true).health == Health::Note);
  facts.compilers = {{"g++", "/usr/bin/g++", ""}};
  facts.missing_headers = {{"zlib.h", "zlib1g-dev"}};
  CHECK(check_headers(facts, true).health == Health::Optional);
  CHECK(check_headers(facts, true).found == "missing: zlib.h");
  CHECK(check_headers(facts, false).health == Health::Bad);
  CHECK(check_headers(facts, false).packages == std::vector<std::string>{"zlib1g-dev"});
  facts.compilers = {{"clang++", "/usr/bin/clang++", ""}};
  CHECK(tuner::can_measure({check_compilers(facts, true)}));
}

TEST_CASE("kinds of cores and memory nodes are named where there are several", "[doctor]") {
  auto facts = good_machine();
  CHECK(check_processor(facts).found == "A processor, 4 of 4 cores usable");
  facts.cores_by_kind = {1, 3};
  facts.numa_nodes = 2;
  CHECK(check_processor(facts).found == "A processor, 4 of 4 cores usable (1 fast, 3 slower), 2 memory nodes");
}

TEST_CASE("the install line names each package once, the needed ones first", "[doctor]") {
  const std::vector<Diagnosis> findings = {{"a", Health::Optional, "", "", {"x", "y"}},
                                           {"b", Health::Bad, "", "", {"y", "z"}},
                                           {"c", Health::Good, "", "", {}}};
  CHECK(tuner::install_line(findings) == "apt-get install y z x");
  CHECK_FALSE(tuner::can_measure(findings));
  CHECK(tuner::can_measure({findings[0], findings[2]}));
  CHECK(tuner::install_line({findings[2]}).empty());
}

TEST_CASE("instructions decide what runs natively", "[doctor]") {
  auto facts = good_machine();
  CHECK(check_instructions(facts).meaning == "f32 and bf16 run natively");
  facts.isa = {"avx2", "sse4_1"};
  CHECK(check_instructions(facts).health == Health::Note);
  CHECK(check_instructions(facts).meaning.find("emulated") != std::string::npos);
  facts.isa = {"sse4_1"};
  CHECK(check_instructions(facts).health == Health::Note);
  facts.isa = {};
  CHECK(check_instructions(facts).health == Health::Bad);
}

TEST_CASE("limits of memory and processor are told", "[doctor]") {
  auto facts = good_machine();
  facts.memory_limit_bytes = std::int64_t{1} << 29;
  CHECK(check_memory(facts).health == Health::Bad);
  facts.memory_limit_bytes = std::int64_t{2} << 30;
  CHECK(check_memory(facts).health == Health::Note);
  facts.cpu_quota = 1.5;
  CHECK(check_processor(facts).health == Health::Note);
  CHECK(check_processor(facts).meaning.find("1.5") != std::string::npos);
}

TEST_CASE("noise is a note, never a refusal", "[doctor]") {
  auto facts = good_machine();
  space::Load load;
  load.loadavg_after = 0.1;
  CHECK(check_quiet(facts, load).health == Health::Good);
  load.loadavg_after = 3;
  CHECK(check_quiet(facts, load).health == Health::Note);
  load = {};
  load.other_cpu = 0.5;
  CHECK(check_quiet(facts, load).health == Health::Note);
  load = {};
  load.steal = 0.1;
  CHECK(check_quiet(facts, load).health == Health::Note);
  facts.governor = "powersave";
  CHECK(check_steadiness(facts).health == Health::Note);
  facts.transparent_huge_pages = "never";
  CHECK(check_huge_pages(facts).health == Health::Note);
}

TEST_CASE("data files are read and compared with their checksums", "[doctor]") {
  const test::TemporaryFolder folder;
  CHECK(tuner::check_data(folder.path()).health == Health::Bad);
  write(folder.path() / "one", "first");
  write(folder.path() / "two", "second");
  write(folder.path() / "SHA256SUMS", space::sha256("first") + "  one\n" + space::sha256("second") + "  two\n");
  CHECK(tuner::check_data(folder.path()).health == Health::Good);
  write(folder.path() / "two", "sec0nd");
  CHECK(tuner::check_data(folder.path()).health == Health::Bad);
  CHECK(tuner::check_data(folder.path()).found == "two has a wrong checksum");
  fs::remove(folder.path() / "one");
  CHECK(tuner::check_data(folder.path()).found == "one is missing, two has a wrong checksum");
}

TEST_CASE("a database is looked at and not made", "[doctor]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "new" / "nocturne.db";
  CHECK(tuner::check_database(file).health == Health::Good);
  CHECK_FALSE(fs::exists(folder.path() / "new"));
  const fs::path strange = folder.path() / "strange.db";
  write(strange, "this is not a database, but it is long enough to be looked at as one, or so one may hope\n");
  CHECK(tuner::check_database(strange).health == Health::Bad);
  test::CliFixture cli;
  {
    const auto store = test::fill(cli);
  }
  CHECK(tuner::check_database(cli.database()).health == Health::Good);
  CHECK(tuner::check_database(cli.database()).found.find("1 campaigns") != std::string::npos);
}

TEST_CASE("a slot that is held is a note with its holder", "[doctor]") {
  const test::TemporaryFolder folder;
  CHECK(tuner::check_slot(folder.path()).found == "free");
  const auto lock = measure::SlotLock::try_take({}, "evening", folder.path());
  REQUIRE(lock);
  const Diagnosis finding = tuner::check_slot(folder.path());
  CHECK(finding.health == Health::Note);
  CHECK(finding.found.find("evening") != std::string::npos);
}

TEST_CASE("a container runtime that cannot run says why, and none is pressed on who has another", "[doctor]") {
  const tuner::RuntimeState works{.name = "charliecloud", .version = "0.31", .obstacle = "", .package = "charliecloud"};
  const tuner::RuntimeState fails{
      .name = "docker", .version = "", .obstacle = "its engine does not answer", .package = "docker.io"};
  auto findings = tuner::check_containers({works, fails});
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].health == Health::Good);
  CHECK(findings[0].found == "0.31");
  CHECK(findings[1].health == Health::Optional);
  CHECK(findings[1].found == "its engine does not answer");
  CHECK(tuner::install_line(findings).empty());
  tuner::RuntimeState missing = works;
  missing.obstacle = "ch-run is not installed";
  findings = tuner::check_containers({missing, fails});
  CHECK(tuner::install_line(findings) == "apt-get install charliecloud");
}

TEST_CASE("sources and supervisor are needed", "[doctor]") {
  const test::TemporaryFolder folder;
  CHECK(tuner::check_sources(folder.path()).health == Health::Bad);
  CHECK(tuner::check_sources(NOCTURNE_SOURCE_DIR).health == Health::Good);
  CHECK(tuner::check_supervisor({}).health == Health::Bad);
  CHECK(tuner::check_supervisor("/bin/x").health == Health::Good);
  CHECK(tuner::check_disk(folder.path() / "not" / "yet").health != Health::Optional);
}
