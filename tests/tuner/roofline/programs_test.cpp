#include "tuner/roofline/programs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A program that prints a text and notes its arguments in a file beside it, NAME.arguments.
void place_program(const fs::path& folder, const std::string& name, const std::string& text, int status = 0) {
  const fs::path program = folder / name;
  std::ofstream(folder / (name + ".text")) << text;
  std::ofstream(program) << "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" << program.string() << ".arguments'\ncat '"
                         << program.string() << ".text'\nexit " << status << '\n';
  fs::permissions(program, fs::perms::owner_all);
}

std::string text_of_file(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a machine is measured by the program beside this one, under the machine's lock", "[roofline]") {
  const test::TemporaryFolder folder;
  const fs::path disk = folder.path() / "-disk";
  fs::create_directory(disk);
  tuner::MachineMeasuring measuring{
      .cpus = {0}, .seconds = 3, .disk = disk, .programs = folder.path(), .slot_folder = folder.path()};
  CHECK_THAT(tuner::measure_machine(measuring).error(), ContainsSubstring("nocturne-machine is not beside nocturne"));

  place_program(folder.path(), "nocturne-machine", test::sample_figures().dump());
  const auto figures = tuner::measure_machine(measuring);
  REQUIRE(figures);
  CHECK(*figures == test::sample_figures());
  CHECK(text_of_file(folder.path() / "nocturne-machine.arguments") ==
        "--json\n--seconds\n3\n--disk\n" + disk.string() + "\n");

  {
    const auto taken = measure::SlotLock::try_take({.cpus = {0}}, "night", folder.path());
    REQUIRE(taken);
    std::stop_source stop;
    measuring.waiting = [&](const measure::SlotHolder& holder) {
      CHECK(holder.campaign == "night");
      stop.request_stop();
    };
    CHECK_FALSE(tuner::measure_machine(measuring, stop.get_token()));
  }
  CHECK(tuner::measure_machine(measuring));
}

TEST_CASE("GPUs come from the worker that can use them, where it is there", "[roofline]") {
  const test::TemporaryFolder folder;
  std::vector<std::string> notes;
  tuner::MachineMeasuring measuring{
      .cpus = {0}, .programs = folder.path(), .slot_folder = folder.path(), .note = [&](const std::string& sentence) {
        notes.push_back(sentence);
      }};
  place_program(folder.path(), "nocturne-machine", test::sample_figures().dump());
  place_program(folder.path(), "nocturne-cudnn", R"({"gpus": [{"name": "G", "measurements": []}]})");
  const auto figures = tuner::measure_machine(measuring);
  REQUIRE(figures);
  CHECK(figures->at("gpus")[0].at("name") == "G");
  CHECK(notes.empty());
  place_program(folder.path(), "nocturne-cudnn", "no driver", 1);
  const auto without = tuner::measure_machine(measuring);
  REQUIRE(without);
  CHECK(without->at("gpus").empty());
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], ContainsSubstring("no driver"));
  place_program(folder.path(), "nocturne-cudnn", R"({"gpus": [], "reason": "no GPU can be used: it is too old"})");
  CHECK(tuner::measure_machine(measuring)->at("gpus").empty());
  REQUIRE(notes.size() == 2);
  CHECK(notes[1] == "No GPU was measured: no GPU can be used: it is too old");
  place_program(folder.path(), "nocturne-cudnn", "{}");
  CHECK(tuner::measure_machine(measuring));
  REQUIRE(notes.size() == 3);
  CHECK_THAT(notes[2], ContainsSubstring("nocturne-cudnn says nothing of GPUs"));
  fs::remove(folder.path() / "nocturne-cudnn");
  CHECK(tuner::measure_machine(measuring));
  CHECK(notes.size() == 3);
}

TEST_CASE("a program that fails, or prints no JSON, is an error with its words", "[roofline]") {
  const test::TemporaryFolder folder;
  const tuner::MachineMeasuring measuring{.cpus = {0}, .programs = folder.path(), .slot_folder = folder.path()};
  place_program(folder.path(), "nocturne-machine", "the loop computed a wrong result", 1);
  CHECK_THAT(tuner::measure_machine(measuring).error(), ContainsSubstring("a wrong result"));
  place_program(folder.path(), "nocturne-machine", "[1, 2]");
  CHECK_THAT(tuner::measure_machine(measuring).error(), ContainsSubstring("no JSON object"));
}

TEST_CASE("a network is described by our worker; what looks like an option or a path is refused", "[roofline]") {
  const test::TemporaryFolder folder;
  place_program(folder.path(), "nocturne-onednn", test::sample_network().dump());
  const auto described = tuner::describe_network("mnist_cnn", folder.path());
  REQUIRE(described);
  CHECK(*described == test::sample_network());
  CHECK(text_of_file(folder.path() / "nocturne-onednn.arguments") == "--describe\n--network\nmnist_cnn\n");
  for (const char* wrong : {"", "--help", "../mnist", "a b", "a/b", ".hidden"}) {
    CAPTURE(wrong);
    CHECK_FALSE(tuner::describe_network(wrong, folder.path()));
  }
  CHECK_FALSE(tuner::describe_network("mnist_cnn", folder.path() / "nowhere"));
}
