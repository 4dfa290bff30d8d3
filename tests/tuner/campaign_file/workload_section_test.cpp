#include "tuner/campaign_file/workload_section.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "measure/comparison/statistics.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tuner/campaign/stored_document.hpp"

using namespace nocturne;
using tuner::CampaignSpec;

namespace {

namespace fs = std::filesystem;

/// `rest`: more sections, each with a comma before it.
std::expected<CampaignSpec, std::vector<tuner::Problem>> parse_workload(const std::string& workload,
                                                                        const std::string& rest = "",
                                                                        const fs::path& folder = "/folder") {
  const std::string text = R"({"campaign": "night", "workload": )" + workload +
                           R"(, "space": {"parameters": [
      {"name": "batch", "stage": "run", "values": [16, 32], "default": 16},
      {"name": "data_threads", "stage": "run", "values": [0, 2], "default": 0},
      {"name": "prefetch", "stage": "run", "values": [2], "default": 2}]}, "budget": {"trials": 4})" +
                           rest + "}";
  return tuner::parse_campaign(text, "f.json", folder, test::sample_facts());
}

CampaignSpec sound(const std::string& workload, const std::string& rest = "", const fs::path& folder = "/folder") {
  auto spec = parse_workload(workload, rest, folder);
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

constexpr const char* kResNet =
    R"({"network": "resnet50", "data": "synthetic", "optimizer": "sgd_momentum", "training_examples": 1281167})";

}  // namespace

TEST_CASE("a residual network on synthetic images has ImageNet's epochs and no accuracy", "[campaign_file]") {
  const CampaignSpec spec = sound(kResNet);
  CHECK(spec.workload.is_synthetic());
  CHECK(spec.workload.learning_rate == 0.01);
  CHECK(spec.verify.accuracy_epochs == 0);
  CHECK(spec.verify.gate.seeds == 0);
  CHECK(spec.verify.gate.steps == 2);
  CHECK(spec.verify.gate.on);  // the exact part says as much as elsewhere
  const auto schedule = measure::schedule_of(spec.workload, spec.space.default_configuration());
  REQUIRE(schedule);
  CHECK(measure::steps_per_epoch(*schedule) == 80072);
  // Whoever opens the stored campaign knows the same.
  CHECK(tuner::workload_of(spec.document) == spec.workload);
  CHECK(tuner::sections_of(spec.document).verify.accuracy_epochs == 0);
}

TEST_CASE("the optimizer's figures belong to what is trained", "[campaign_file]") {
  const std::string before = sound(kResNet).identity();
  const CampaignSpec spec = sound(
      R"({"network": "resnet50", "data": "synthetic", "optimizer": "sgd_momentum", "training_examples": 1281167,
          "learning_rate": 0.1, "momentum": 0.8, "weight_decay": 0, "label_smoothing": 0.1})");
  CHECK(spec.workload.learning_rate == 0.1);
  CHECK(spec.workload.momentum == 0.8);
  CHECK(spec.workload.weight_decay == 0);
  CHECK(spec.workload.label_smoothing == 0.1);
  CHECK(spec.identity() != before);
  CHECK(tuner::workload_of(spec.document) == spec.workload);
}

TEST_CASE("the text of a workload without the newer keys is what it always was", "[campaign_file]") {
  CHECK(space::to_json(space::Workload{}).dump() ==
        R"({"data":"mnist","network":"mnist_cnn","optimizer":"adadelta","training_examples":60000})");
}

TEST_CASE("a folder of images is named from the campaign's folder", "[campaign_file]") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder.path() / "photos" / "train");
  const std::string workload =
      R"({"network": "resnet50", "data": "folder", "data_folder": "photos/", "skip_broken": true,
          "optimizer": "sgd_momentum", "training_examples": 1000})";
  const CampaignSpec spec = sound(workload, "", folder.path());
  CHECK(spec.workload.data_folder == (folder.path() / "photos").string());
  CHECK(spec.workload.skip_broken);
  CHECK(spec.verify.accuracy_epochs == 0);
  CHECK(tuner::workload_of(spec.document) == spec.workload);
  CHECK(sound(workload, R"(, "verify": {"accuracy_epochs": 2})", folder.path()).verify.accuracy_epochs == 2);
}

TEST_CASE("what does not fit together is said with what does", "[campaign_file]") {
  struct Case {
    std::string workload, rest, pointer, found, allowed;
  };
  const Case wrong = GENERATE(values<Case>({
      {R"({"network": "resnet50", "optimizer": "sgd_momentum"})", "", "/workload", "data 'mnist' for network resnet50",
       "synthetic, folder: it reads images of 3 × 224 × 224"},
      {R"({"network": "resnet20", "data": "synthetic", "training_examples": 50000})", "", "/workload",
       "optimizer 'adadelta' for network resnet20", "sgd_momentum"},
      {R"({"network": "resnet20", "data": "synthetic", "optimizer": "sgd_momentum"})", "", "/workload",
       "key 'training_examples' is missing", "'synthetic'"},
      {R"({"data": "folder", "data_folder": "/", "training_examples": 9})", "", "/workload/data",
       "data 'folder' for network mnist_cnn", "mnist, synthetic"},
      {R"({"network": "resnet50", "data": "folder", "optimizer": "sgd_momentum", "training_examples": 9})", "",
       "/workload", "key 'data_folder' is missing", "FOLDER/CLASS/NAME.jpg"},
      {R"({"network": "resnet50", "data": "folder", "data_folder": "nowhere", "optimizer": "sgd_momentum",
           "training_examples": 9})",
       "", "/workload/data_folder", "there is no folder /folder/nowhere", "one folder in it for each class"},
      {R"({"data_folder": "photos"})", "", "/workload/data_folder", "'data_folder' with data 'mnist'", "'folder'"},
      {R"({"skip_broken": true})", "", "/workload/skip_broken", "'skip_broken' with data 'mnist'", "'folder'"},
      {R"({"momentum": 0.9})", "", "/workload/momentum", "'momentum' with optimizer 'adadelta'", "'sgd_momentum'"},
      {R"({"label_smoothing": 1})", "", "/workload/label_smoothing", "found 1", "below 1"},
      {kResNet, R"(, "verify": {"accuracy_epochs": 1})", "/verify/accuracy_epochs", "found 1",
       "synthetic images teach nothing"},
      {kResNet, R"(, "verify": {"gate": {"seeds": 6}})", "/verify/gate/seeds", "found 6", "0: synthetic"},
  }));
  CAPTURE(wrong.workload, wrong.rest);
  const auto spec = parse_workload(wrong.workload, wrong.rest);
  REQUIRE(!spec);
  CAPTURE(tuner::to_text(spec.error()));
  REQUIRE(spec.error().size() == 1);
  CHECK(spec.error()[0].pointer == wrong.pointer);
  CHECK(spec.error()[0].found.contains(wrong.found));
  CHECK(spec.error()[0].allowed.contains(wrong.allowed));
}

TEST_CASE("a user's own worker may know other combinations", "[campaign_file]") {
  const CampaignSpec spec = sound(R"({"network": "resnet50", "data": "mnist", "optimizer": "lamb"})",
                                  R"(, "worker": {"command": ["/usr/bin/trainer"]})");
  CHECK(spec.workload.optimizer == "lamb");
}
