#include "tuner/deploy/image_contents.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/shell_quote.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// Of an environment whose packages are locked.
deploy::Profile python_profile() {
  deploy::Profile profile = test::sample_profile();
  const std::string hash = " --hash=sha256:" + std::string(64, 'a');
  profile.training.program = "/data/environments/pytorch-1/bin/python";
  profile.training.arguments = {"-u", "/share/kernels/python/pytorch_worker.py"};
  profile.training.recipe = "pytorch";
  profile.training.packages = {"numpy==1.19.5" + hash, "pip==23.0", "torch==2.1.0" + hash};
  profile.training.python = "3.11.2";
  return profile;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Instructions as a builder reads them: comments gone, continued lines joined.
std::vector<std::string> instructions(const std::string& dockerfile) {
  std::vector<std::string> found;
  bool continued = false;
  for (std::string line : lines_of(dockerfile)) {
    if (line.starts_with('#') || line.empty()) continue;
    const bool goes_on = line.ends_with('\\');
    if (continued)
      found.back() += "\n" + line;
    else
      found.push_back(line);
    continued = goes_on;
  }
  return found;
}

std::string first_words(const std::vector<std::string>& all) {
  std::string words;
  for (const std::string& each : all) words += each.substr(0, each.find(' ')) + " ";
  return words;
}

/// What the commands of a definition write, with /opt/nocturne in another folder. `shell`: "sh", "bash".
std::string written(const std::vector<std::string>& commands, const fs::path& folder, const std::string& shell) {
  std::string script = "set -eu\n";
  for (std::string command : commands) {
    for (std::size_t at = 0; (at = command.find("/opt/nocturne")) != std::string::npos;)
      command.replace(at, 13, folder.string());
    script += command + "\n";
  }
  test::make_file(folder / "build.sh", script);
  const auto done = test::shell(shell + " " + (folder / "build.sh").string() + " 2>&1");
  CAPTURE(done.output);
  CHECK(done.code == 0);
  return test::read_file(folder / "train.sh");
}

/// The script inside, as an export on the host has it.
std::string script_inside(deploy::Profile profile) {
  profile.container.reset();
  profile.configuration.erase("container");
  return deploy::export_sh(profile);
}

}  // namespace

TEST_CASE("any text comes out of a definition's commands as it was, in lines that no builder reads otherwise",
          "[deploy]") {
  const test::TemporaryFolder folder;
  std::mt19937 random(3);
  const std::vector<std::string> parts = {
      "'", "\"", "\\",   "$(touch marker)", "`touch marker`", "\n", "%post\n", "{{", "<<E", "\xFF\xC3", " ",
      "#", "\t", "x\\\n"};
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (auto i = random() % 30; i > 0; --i)
      text +=
          random() % 3 == 0 ? std::string(1, static_cast<char>(1 + random() % 255)) : parts[random() % parts.size()];
    if (text.empty() || !text.ends_with('\n')) text += '\n';
    const auto commands = deploy::writing_commands(text, "/opt/nocturne/train.sh");
    for (const std::string& command : commands) {
      CHECK_FALSE((command.contains("{{") || command.contains("<<") || command.contains("\n%")));
      CHECK(std::ranges::all_of(command, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); }));
      for (const std::string& line : lines_of(command)) CHECK_FALSE(line.ends_with("\\'"));
    }
    for (const char* shell : {"sh", "bash"}) {
      CAPTURE(text, shell);
      REQUIRE(written(commands, folder.path(), shell) == text);
    }
  }
  CHECK_FALSE(fs::exists("marker"));
}

TEST_CASE("a long text is written by several commands, each of which a shell takes", "[deploy]") {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("line {} of a long script\n", i);
  const auto commands = deploy::writing_commands(text, "/opt/nocturne/train.sh");
  CHECK(commands.size() > 5);
  for (const std::string& command : commands) CHECK(command.size() < (100 << 10));
  CHECK(written(commands, folder.path(), "sh") == text);
}

TEST_CASE("a Dockerfile has two stages: what builds stays in the first", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.training.libraries = {"/usr/lib/libdnnl.so.3"};
  profile.launch.preload = {"/usr/lib/libjemalloc.so.2"};
  const auto found = instructions(deploy::export_dockerfile(profile));
  CHECK(first_words(found) == "ARG FROM RUN RUN FROM COPY COPY COPY COPY RUN ENV WORKDIR ENTRYPOINT ");
  CHECK(found[0] == "ARG BASE=docker.io/library/debian:12-slim");
  CHECK(found[1] == "FROM $BASE AS build");
  CHECK(found[5] == "COPY [\"opt/builds/k/worker\",\"/opt/builds/k/worker\"]");
  CHECK(found[6] == "COPY [\"usr/lib/libdnnl.so.3\",\"/usr/lib/libdnnl.so.3\"]");
  CHECK(found[7] == "COPY [\"usr/lib/libjemalloc.so.2\",\"/usr/lib/libjemalloc.so.2\"]");
  CHECK(found[8] == "COPY --from=build /opt/nocturne/train.sh /opt/nocturne/train.sh");
  CHECK(found[12] == "ENTRYPOINT [\"/bin/sh\", \"/opt/nocturne/train.sh\"]");
  CHECK_THAT(deploy::export_dockerfile(profile), ContainsSubstring("is 2.04 times as fast as the default"));
}

TEST_CASE("an environment is made again in the image, from packages locked by their SHA-256", "[deploy]") {
  deploy::Profile profile = python_profile();
  const auto found = instructions(deploy::export_dockerfile(profile));
  CHECK(found[0] == "ARG BASE=docker.io/library/python:3.11-slim");
  const std::string text = deploy::export_dockerfile(profile);
  CHECK_THAT(text, ContainsSubstring("--require-hashes") && ContainsSubstring("torch==2.1.0 --hash=sha256:aaaa") &&
                       !ContainsSubstring("pip==23.0"));
  CHECK_THAT(text, ContainsSubstring("COPY [\"share/kernels/python\",\"/share/kernels/python\"]") &&
                       ContainsSubstring("COPY --from=build [\"/data/environments/pytorch-1\""));

  SECTION("what was changed by hand, or is not locked, is copied as it is") {
    const bool changed = GENERATE(true, false);
    if (changed)
      profile.training.fix_ups = {"cuda_stand_ins"};
    else
      profile.training.packages.emplace_back("libtorch==1.13.1");
    const std::string copied = deploy::export_dockerfile(profile);
    CHECK_THAT(copied, !ContainsSubstring("pip install") && ContainsSubstring("COPY [\"data/environments/pytorch-1\""));
  }
}

TEST_CASE("no value becomes an instruction of an image", "[deploy]") {
  const test::TemporaryFolder folder;
  const fs::path marker = folder.path() / "marker";
  deploy::Profile profile = test::hostile_profile(marker.string());
  profile.campaign += "\nRUN touch x\n%post\nFrom: evil\n# syntax=evil/frontend\n{{ evil }}";
  profile.launch.set["ODD"] = "\xFF\xFE {{ x }}\n%post\n  <<EOF\n#\\\n";
  profile.configuration.set("container", std::string("podman"));
  profile.container = deploy::ProfileContainer{.runtime = "podman",
                                               .version = "1",
                                               .image = profile.repeat,
                                               .digest = profile.repeat,
                                               .root = {},
                                               .reference = std::string(64, 'a'),
                                               .mounts = {{.path = "/opt/builds/k"}}};
  CHECK(first_words(instructions(deploy::export_dockerfile(profile))) ==
        "ARG FROM RUN RUN FROM COPY COPY RUN ENV WORKDIR ENTRYPOINT ");
  std::string sections;
  for (const std::string& line : lines_of(deploy::export_apptainer(profile))) {
    if (line.starts_with('%') || line.starts_with("From") || line.starts_with("Boot")) sections += line + "|";
    CHECK_FALSE(line.contains("{{"));
  }
  CHECK(sections ==
        "Bootstrap: docker|From: docker.io/library/debian:12-slim|%post|Bootstrap: docker|From: "
        "docker.io/library/debian:12-slim|%files from build|%files|%post|%environment|%runscript|");
  CHECK(written(deploy::build_commands(deploy::image_contents(profile)), folder.path(), "sh") ==
        script_inside(profile));
  CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("a path that builders read otherwise is refused with a sentence, and the image is not made", "[deploy]") {
  for (const char* path :
       {"/opt/a$b/worker", "/opt/a*b/worker", "/opt/a\"b/worker", "/opt/a\nb/worker", "/opt/\xFF/w"}) {
    deploy::Profile profile = test::sample_profile();
    profile.training.program = path;
    CHECK_THAT(deploy::image_contents(profile).obstacle, ContainsSubstring("move what it names"));
    const auto commands = deploy::build_commands(deploy::image_contents(profile));
    REQUIRE(commands.size() == 1);
    CHECK(test::shell("( " + commands[0] + " ) 2>/dev/null").code == 1);
    CHECK_THAT(deploy::export_dockerfile(profile), ContainsSubstring("exit 1"));
    CHECK_THAT(deploy::export_apptainer(profile), ContainsSubstring("exit 1"));
  }
  deploy::Profile spaced = test::sample_profile();
  spaced.training.program = "/opt/my builds/worker";
  CHECK_THAT(deploy::export_dockerfile(spaced), ContainsSubstring("COPY [\"opt/my builds/worker\""));
}

TEST_CASE("a program that is the image's own makes no other image", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.container = deploy::ProfileContainer{.runtime = "podman", .image = "hub-tf", .root = {}, .reference = {}};
  CHECK_THAT(deploy::image_contents(profile).obstacle, ContainsSubstring("of the image hub-tf itself"));
}

TEST_CASE("an image's name is one that registries take", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  for (const auto& [campaign, name] :
       {std::pair{"mnist-evening", "nocturne-mnist-evening"}, {"A  B__c.", "nocturne-a-b-c"}, {"é", "nocturne"}}) {
    profile.campaign = campaign;
    CHECK(deploy::image_name(profile) == name);
  }
}

namespace {

/// An exported script whose tools are impostors that write down how they were started.
struct ImageScript {
  ImageScript(std::string_view format, deploy::Profile profile, const std::vector<std::string>& tools) {
    profile.training.data_folder = folder.path() / "the 'data'";
    fs::create_directories(profile.training.data_folder);
    for (const std::string& tool : tools) {
      test::make_file(folder.path() / "tools" / tool,
                      "#!/bin/sh\n: \"${0##*/}\"\nprintf '%s\\n' \"${0##*/}\" \"$@\" >> '" +
                          (folder.path() / "started").string() + "'\n",
                      true);
    }
    test::make_file(folder.path() / "job.sh", deploy::find_exporter(format)->text(profile), true);
  }
  [[nodiscard]] test::ShellResult run(const std::string& variables, const std::string& words = "--epochs 2") const {
    return test::shell("cd " + deploy::shell_quote(folder.path().string()) + " && PATH=\"$PWD/tools:$PATH\" " +
                       variables + " sh job.sh " + words + " 2>&1");
  }
  [[nodiscard]] std::string started() const { return test::read_file(folder.path() / "started"); }
  test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a job for Shifter asks for what was measured, and starts the script in the image", "[deploy]") {
  const test::TemporaryFolder markers;
  const fs::path marker = markers.path() / "marker";
  for (const bool hostile : {false, true}) {
    const ImageScript job("shifter", hostile ? test::hostile_profile(marker.string()) : test::sample_profile(),
                          {"shifter"});
    const std::string text = test::read_file(job.folder.path() / "job.sh");
    CHECK_THAT(text,
               ContainsSubstring("#SBATCH --cpus-per-task=2\n") && ContainsSubstring("#SBATCH --time=00:04:00\n"));
    CHECK_THAT(job.run("IMAGE=").output, ContainsSubstring("name the image"));
    const auto done = job.run("IMAGE=docker:hub/x:1");
    CAPTURE(done.output);
    CHECK(done.code == 0);
    const std::string here = job.folder.path().string();
    CHECK(job.started() == "shifter\n--image=docker:hub/x:1\n--volume=" + here + "/the 'data':/data;" + here +
                               ":/results\n--workdir=/results\n/bin/sh\n/opt/nocturne/train.sh\n--epochs\n2\n");
  }
  CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("a script for Charliecloud builds its image once, and refuses what cannot be", "[deploy]") {
  const test::TemporaryFolder markers;
  const fs::path marker = markers.path() / "marker";
  const ImageScript script("charliecloud", test::hostile_profile(marker.string()), {"ch-run"});
  fs::create_directory(script.folder.path() / "there");
  const auto done = script.run("IMAGE=\"$PWD/there\" OUTPUT=out DATA=\"$PWD\"");
  CAPTURE(done.output);
  CHECK_FALSE(fs::exists(marker));
  if (done.code == 5) SKIP("Charliecloud is missing");
  CHECK(done.code == 0);
  CHECK_THAT(script.started(), ContainsSubstring("\n--\n/bin/sh\n/opt/nocturne/train.sh\n--epochs\n2\n"));
  CHECK_THAT(script.run("IMAGE=\"$PWD/there\" DATA=/nowhere").output, ContainsSubstring("/nowhere is missing"));
  CHECK_THAT(script.run("IMAGE=\"$PWD/there\" OUTPUT=a:b").output, ContainsSubstring("with a colon"));
}

TEST_CASE("a profile keeps what an image needs", "[deploy]") {
  deploy::Profile profile = python_profile();
  profile.training.fix_ups = {"one"};
  profile.training.libraries = {"/usr/lib/libx.so"};
  auto document = deploy::to_json(profile);
  CHECK(deploy::profile_from_json(document) == profile);
  document["training"]["python"] = "3; touch x";
  CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/training/python"));
  document = deploy::to_json(profile);
  document["training"]["libraries"] = {"relative"};
  CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/training/libraries"));
}
