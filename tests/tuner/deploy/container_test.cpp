#include "tuner/deploy/container.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include "measure/container/image_store.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/shell_quote.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string kDigits(64, 'a');

/// A profile of each runtime, whose programs are impostors that write down how they were started.
struct ContainerScript {
  ContainerScript(const std::string& runtime, deploy::Profile from, const std::string& form = "")
      : profile(std::move(from)) {
    const bool folder_image = runtime == "charliecloud" || runtime == "apptainer";
    profile.configuration.set("container", runtime);
    profile.training.program = folder.path() / "build" / "worker";
    profile.training.data_folder = folder.path() / "the data";
    fs::create_directories(profile.training.data_folder);
    test::make_file(profile.training.program, "", true);
    const fs::path root = folder.path() / "the image";
    test::make_file(root / "var/lib/dpkg/status", "Package: b\nVersion: 2\n\nPackage: a-b\nVersion: 1:3~x\n\n");
    profile.container = deploy::ProfileContainer{.runtime = runtime,
                                                 .version = "1",
                                                 .image = "an image",
                                                 .digest = measure::digest_of_packages(root),
                                                 .by_packages = folder_image,
                                                 .root = folder_image ? root : fs::path(),
                                                 .reference = folder_image ? "" : "sha256:" + kDigits,
                                                 .mounts = {{.path = profile.training.program.parent_path()}},
                                                 .gpu = false};
    if (!form.empty()) {
      profile.container->form = form;
      profile.container->file = folder.path() / "the image's file";
      test::make_file(profile.container->file, "old");
      test::make_file(folder.path() / "tools/mksquashfs", "#!/bin/sh\nfind \"$1\" > \"$2\"\n", true);
    }
    const std::string tool = runtime == "charliecloud" ? "ch-run" : runtime;
    test::make_file(folder.path() / "tools" / tool,
                    "#!/bin/sh\ncase \" $* \" in *' inspect '*) cat '" + (folder.path() / "id").string() +
                        "'; exit ;; esac\n"
                        "printf '%s\\0' \"$@\" > arguments\nenv -0 > environment\nexit 7\n",
                    true);
    test::make_file(folder.path() / "id", kDigits + "\n");
    test::make_file(script(), deploy::export_sh(profile));
  }
  [[nodiscard]] fs::path script() const { return folder.path() / "train.sh"; }
  [[nodiscard]] fs::path out() const { return folder.path() / "out"; }
  [[nodiscard]] test::ShellResult run() const {
    return test::shell("cd " + deploy::shell_quote(folder.path().string()) +
                       " && OMP_NUM_THREADS=77 LD_PRELOAD= OUTPUT=out PATH=\"$PWD/tools:$PATH\" sh train.sh 2>&1");
  }

  /// What is composed for a run that is measured, with the same folders.
  [[nodiscard]] measure::RunPlan measured(const std::string& id) const {
    measure::RunPlan plan;
    plan.id = id;
    plan.folder = out();
    plan.argv = {profile.training.program.string()};
    for (const std::string& word : profile.training.arguments) plan.argv.push_back(word);
    for (const char* name : {"request.json", "events.jsonl"}) {
      plan.argv.emplace_back(std::string_view(name) == "request.json" ? "--request" : "--events");
      plan.argv.push_back((out() / name).string());
    }
    for (const auto& [name, value] : profile.launch.variables())
      if (deploy::is_variable_name(name)) plan.environment[name] = value;
    tuner::ContainerPlace contained{.runtime = measure::find_container_runtime(profile.container->runtime),
                                    .image = {.name = profile.container->image,
                                              .digest = profile.container->digest,
                                              .root = profile.container->root,
                                              .reference = profile.container->reference,
                                              .form = profile.container->form,
                                              .file = profile.container->file},
                                    .mounts = profile.container->mounts};
    contained.mounts.push_back({.path = profile.training.data_folder});
    return tuner::contained_command(std::move(plan), contained, "script").value();
  }

  test::TemporaryFolder folder;
  deploy::Profile profile;
};

std::vector<std::string> words_in(const fs::path& file) {
  const std::string text = test::read_file(file);
  std::vector<std::string> words;
  for (std::size_t from = 0, to = 0; (to = text.find('\0', from)) != std::string::npos; from = to + 1)
    words.push_back(text.substr(from, to - from));
  return words;
}

/// Mounts may stand in another order: sorted by path, and the script's folders have names of their own.
std::vector<std::string> without_numbers(std::vector<std::string> words) {
  for (std::string& word : words)
    if (const std::size_t at = word.find("nocturne-script-"); at != std::string::npos) word.resize(at + 16);
  std::ranges::sort(words);
  return words;
}

}  // namespace

TEST_CASE("a script starts a container as a measured run does, and no value becomes a command", "[deploy]") {
  const test::TemporaryFolder markers;
  const fs::path marker = markers.path() / "marker";
  for (const char* runtime : {"charliecloud", "apptainer", "podman", "docker"}) {
    for (const bool hostile : {false, true}) {
      CAPTURE(runtime, hostile);
      const ContainerScript inside(runtime, hostile ? test::hostile_profile(marker.string()) : test::sample_profile());
      CHECK(test::shell("bash -n " + deploy::shell_quote(inside.script().string())).code == 0);
      const auto result = inside.run();
      CAPTURE(result.output);
      REQUIRE(result.code == 7);
      auto expected = inside.measured("script-1");
      expected.argv.erase(expected.argv.begin());
      CHECK(without_numbers(words_in(inside.out() / "arguments")) == without_numbers(expected.argv));
      const std::string environment = test::read_file(inside.out() / "environment");
      for (const auto& [name, value] : expected.environment)
        CHECK_THAT(environment, ContainsSubstring(name + "=" + value));
      CHECK_THAT(environment, !ContainsSubstring("LD_PRELOAD="));
    }
  }
  CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("a script runs an image in the form that was measured, and makes it anew where a place is missing",
          "[deploy]") {
  for (const auto& [runtime, form] :
       {std::pair{"charliecloud", "squashfs"}, {"apptainer", "sif"}, {"apptainer", "sif-fuse"}}) {
    CAPTURE(form);
    deploy::Profile profile = test::sample_profile();
    ContainerScript inside(runtime, profile, form);
    inside.profile.container->mounts.push_back({.path = "/usr/share"});  // not in the folder that is inside already
    test::make_file(inside.script(), deploy::export_sh(inside.profile));
    const auto result = inside.run();
    CAPTURE(result.output);
    REQUIRE(result.code == 7);
    auto expected = inside.measured("script-1");
    expected.argv.erase(expected.argv.begin());
    CHECK(without_numbers(words_in(inside.out() / "arguments")) == without_numbers(expected.argv));
    const std::string file = test::read_file(inside.profile.container->file);
    if (std::string(runtime) == "apptainer") CHECK(file == "old");
    if (std::string(runtime) == "charliecloud") CHECK_THAT(file, ContainsSubstring("the image/usr/share"));
    const auto again = deploy::profile_from_json(deploy::to_json(inside.profile));
    REQUIRE(again);
    CHECK(*again == inside.profile);
    auto document = deploy::to_json(inside.profile);
    document["container"]["form"] = "brick";
    CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/container/form"));
    fs::remove(inside.profile.container->file);
    CHECK(inside.run().code == 5);
  }
}

TEST_CASE("a script refuses another image than the one that was measured", "[deploy]") {
  for (const char* runtime : {"charliecloud", "apptainer", "podman", "docker"}) {
    CAPTURE(runtime);
    const ContainerScript inside(runtime, test::sample_profile());
    test::make_file(inside.folder.path() / "the image/var/lib/dpkg/status", "Package: b\nVersion: 3\n\n");
    test::make_file(inside.folder.path() / "id", std::string(64, 'b') + "\n");
    const auto result = inside.run();
    CHECK(result.code == 5);
    CHECK_THAT(result.output, ContainsSubstring("another one than was measured"));
  }
}

TEST_CASE("a folder that is inside already is not mounted once more", "[deploy]") {
  const ContainerScript inside("charliecloud", test::sample_profile());
  REQUIRE(measure::lies_in(inside.out(), "/tmp"));  // where tests have their folders
  REQUIRE(inside.run().code == 7);
  for (const std::string& word : words_in(inside.out() / "arguments")) CHECK(word != "--bind=" + inside.out().string());
}

TEST_CASE("apply refuses a profile whose container cannot be told or is not the one measured", "[deploy]") {
  const deploy::ApplyMachine machine{.fingerprint = test::sample_profile().measured_on.machine,
                                     .allowed_cpus = {0, 1, 2, 3}};
  deploy::Profile profile = test::sample_profile();
  profile.configuration.set("container", std::string("host"));
  CHECK(deploy::plan_command(profile, {"true"}, {}, machine, false).objections.empty());
  profile.configuration.set("container", std::string("podman"));
  const auto untold = deploy::plan_command(profile, {"true"}, {}, machine, false);
  REQUIRE(untold.objections.size() == 1);
  CHECK_THAT(untold.objections.front(), ContainsSubstring("in the container podman, and does not say in which image"));
  CHECK_THAT(deploy::export_sh(profile), ContainsSubstring("does not say in which image"));

  if (!measure::find_container_runtime("charliecloud")->obstacle().empty()) SKIP("Charliecloud cannot run here");
  ContainerScript inside("charliecloud", test::sample_profile());
  CHECK(deploy::obstacle_of(*inside.profile.container).empty());
  auto plan = deploy::plan_command(inside.profile, {"/bin/ls"}, inside.folder.path(), machine, false);
  CHECK(plan.argv.front() == "ch-run");
  inside.profile.container->digest = "sha256:" + kDigits;
  CHECK_THAT(deploy::obstacle_of(*inside.profile.container), ContainsSubstring("is another one than was measured"));
  inside.profile.container->root = "/nowhere";
  CHECK_THAT(deploy::obstacle_of(*inside.profile.container), ContainsSubstring("is not in /nowhere"));
}

TEST_CASE("a GPU is handed over as the runtime does it", "[deploy]") {
  for (const auto& [runtime, words] : {std::pair{"apptainer", " --nv "},
                                       {"podman", "nvidia.com/gpu=all"},
                                       {"docker", " --gpus all "},
                                       {"charliecloud", "fail 'charliecloud passes a GPU through only"}}) {
    CAPTURE(runtime);
    ContainerScript inside(runtime, test::sample_profile());
    CHECK_THAT(deploy::export_sh(inside.profile), !ContainsSubstring(words));
    inside.profile.container->gpu = true;
    CHECK_THAT(deploy::export_sh(inside.profile), ContainsSubstring(words));
  }
}

TEST_CASE("a profile's container is read back, and checked", "[deploy]") {
  const ContainerScript inside("podman", test::sample_profile());
  auto document = deploy::to_json(inside.profile);
  CHECK(deploy::profile_from_json(document) == inside.profile);
  CHECK(deploy::profile_from_json(deploy::to_json(ContainerScript("charliecloud", test::sample_profile()).profile)));
  document["container"]["reference"] = "--privileged";
  CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/container/reference"));
  document = deploy::to_json(inside.profile);
  document["container"]["runtime"] = "sh";
  CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/container/runtime"));
  document = deploy::to_json(inside.profile);
  document["container"]["mounts"][0]["path"] = "relative";
  CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/container/mounts/0/path"));
}
