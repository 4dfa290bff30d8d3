#include "measure/machine/fingerprint.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace nocturne::measure {

using space::Match;

namespace {

/// What a difference in a field means. A field that is new here must be declared on purpose.
const std::map<std::string, Match> kDeclared = {
    {"cpu.model", Match::Must},
    {"cpu.signature", Match::Must},
    {"cpu.microcode", Match::Verify},
    {"cpu.isa", Match::Must},
    {"cpu.topology", Match::Must},
    {"cpu.allowed", Match::Must},
    {"cpu.quota", Match::Must},
    {"cpu.caches", Match::Must},
    {"cpu.numa_nodes", Match::Must},
    {"cpu.governor", Match::Verify},
    {"cpu.boost", Match::Verify},
    {"memory", Match::Must},
    {"memory.limit", Match::Verify},
    {"memory.huge_pages", Match::Verify},
    {"system.kernel", Match::Verify},
    {"system.hypervisor", Match::Verify},
    {"system.container", Match::Ignore},
    {"system.host", Match::Ignore},
    {"software.libc", Match::Verify},
    {"software.onednn", Match::Must},
    {"software.libgomp", Match::Verify},
    {"software.compilers", Match::Ignore},
    {"software.allocators", Match::Ignore},
    {"gpu.models", Match::Must},
    {"gpu.driver", Match::Must},
};

std::string documented() {
  const std::ifstream file(std::string(NOCTURNE_SOURCE_DIR) + "/measure/README.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("each field of the fingerprint is declared: it must match, is verified, or only explains", "[fingerprint]") {
  std::map<std::string, Match> found;
  const space::Fingerprint fingerprint = fingerprint_of(MachineFacts{});
  for (const auto& field : fingerprint.fields()) found[field.name] = field.match;
  CHECK(found == kDeclared);
}

TEST_CASE("each field of the fingerprint is documented with what it means", "[fingerprint]") {
  const std::string text = documented();
  REQUIRE(text.find("## What a difference of the machine means") != std::string::npos);
  const space::Fingerprint fingerprint = fingerprint_of(MachineFacts{});
  for (const auto& field : fingerprint.fields()) {
    CAPTURE(field.name);
    const std::string row = "| `" + field.name + "` | " + std::string(space::to_text(field.match)) + " |";
    CHECK(text.find(row) != std::string::npos);
  }
}

TEST_CASE("what is verified leaves the key alone and is a difference, what explains is none", "[fingerprint]") {
  for (const auto& [name, match] : kDeclared) {
    CAPTURE(name);
    const space::Fingerprint before = fingerprint_of(MachineFacts{});
    space::Fingerprint now = before;
    space::FingerprintField field = *before.find(name);
    field.value += " another";
    now.set(field);
    CHECK((now.key() != before.key()) == (match == Match::Must));
    CHECK(before.differences(now).size() == (match == Match::Ignore ? 0 : 1));
  }
}

}  // namespace nocturne::measure
