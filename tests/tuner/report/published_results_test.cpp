#include "tuner/report/published_results.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/file_contents.hpp"
#include "tuner/report/evidence.hpp"
#include "tuner/report/published_picture.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using report::Judgement;
using report::ReplicationOutcome;
using report::Size;

space::Configuration settings_of(const nlohmann::json& document) {
  return space::Configuration::from_json(document).value();
}

const report::FrameworkLabels kNothing;

report::PublishedSide side_of(const nlohmann::json& document) {
  return report::read_side(document).value();
}

report::PublishedResult published_on_xla() {
  return {.id = "xla",
          .device = "cpu",
          .reference = side_of({{"framework", "tf"}, {"graph_compiler", "none"}}),
          .candidate = side_of({{"framework", "tf"}, {"graph_compiler", "xla"}}),
          .published_percent = -30};
}

report::PublishedResult published_of(report::PublishedKind kind, double margin_percent) {
  return {.id = "margin", .kind = kind, .device = "cpu", .margin_percent = margin_percent};
}

/// Two recipes of one framework and version that got here by different ways, and a third of another.
report::FrameworkLabels two_sources() {
  return {{"tensorflow-2.1-hub", {.name = "tensorflow", .version = "2.1", .source = "hub"}},
          {"ours", {.name = "tensorflow", .version = "2.1", .source = "opt-build"}},
          {"theirs", {.name = "pytorch", .version = "1.4", .source = "opt-build"}}};
}

}  // namespace

TEST_CASE("the published results of the paper can be read, and each id is its own", "[report]") {
  const auto published_results = report::read_published_results(report::published_results_of_paper_text());
  REQUIRE(published_results);
  std::set<std::string> ids;
  for (const report::PublishedResult& each : *published_results) {
    CHECK(ids.insert(each.id).second);
    CHECK((each.device == "cpu" || each.device == "gpu"));
    CHECK((report::is_of_epochs(each.kind) || each.reference != each.candidate));
    for (const report::ShippedAnswer& shipped : each.shipped) {
      CHECK(shipped.low_percent < shipped.percent);
      CHECK(shipped.percent < shipped.high_percent);
      CHECK(!shipped.machine.empty());
    }
  }
  CHECK(ids.contains("tensorflow-2.1"));
  CHECK(ids.contains("first-epoch"));
  for (const char* claim :
       {"pytorch-similar", "mxnet-similar", "cntk-behind", "tensorflow-from-source", "pytorch-from-source",
        "tensorflow-from-source-gpu", "pytorch-from-source-gpu", "mxnet-from-source-gpu", "custom-beats-official",
        "compiler-and-network", "eager", "later-epochs", "later-epochs-resnet50", "xla-gpu", "xla-gpu-today"})
    CHECK(ids.contains(claim));
}

TEST_CASE("a published result that cannot be understood is named with what is wrong", "[report]") {
  CHECK_THAT(report::read_published_results("[]").error(), ContainsSubstring("'published results'"));
  CHECK_THAT(report::read_published_results(R"({"results": [{"id": "x"}]})").error(),
             ContainsSubstring("published result 0") && ContainsSubstring("title"));
  CHECK_THAT(report::read_published_results(R"({"results": [{"id": "x", "title": "x", "sentence": "x", "network": "n",
    "device": "cpu", "published_percent": 0, "reference": {"a": 1}, "candidate": {"a": 2}}]})")
                 .error(),
             ContainsSubstring("which of two different sides is faster"));
  CHECK_THAT(report::read_published_results(R"({"results": [{"id": "x", "title": "x", "sentence": "x", "network": "n",
    "device": "cpu", "kind": "same", "reference": {"a": 1}, "candidate": {"a": 2}}]})")
                 .error(),
             ContainsSubstring("margin_percent"));
  CHECK_THAT(report::read_published_results(R"({"results": [{"id": "x", "title": "x", "sentence": "x", "network": "n",
    "device": "cpu", "kind": "interaction", "margin_percent": 10, "other_network": "n", "reference": {"a": 1},
    "candidate": {"a": 2}}]})")
                 .error(),
             ContainsSubstring("two different networks"));
}

TEST_CASE("a published result of faster is confirmed, reversed or undecided by its whole interval", "[report]") {
  CHECK(report::judge(54, 40, 60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Inside});
  CHECK(report::judge(54, 1, 6, true) == Judgement{ReplicationOutcome::Confirmed, Size::Smaller});
  CHECK(report::judge(54, 60, 80, true) == Judgement{ReplicationOutcome::Confirmed, Size::Larger});
  CHECK(report::judge(54, -20, -2, true) == Judgement{ReplicationOutcome::Reversed, Size::Smaller});
  CHECK(report::judge(54, -1, 3, true) == Judgement{ReplicationOutcome::Undecided, Size::Smaller});
  CHECK(report::judge(4, -1, 5, true) == Judgement{ReplicationOutcome::Undecided, Size::Inside});
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(report::judge(4, -100, endless, true) == Judgement{ReplicationOutcome::Undecided, Size::Inside});
}

TEST_CASE("a published result of slower is judged in the mirror", "[report]") {
  CHECK(report::judge(-30, -35, -25, true) == Judgement{ReplicationOutcome::Confirmed, Size::Inside});
  CHECK(report::judge(-30, -10, -5, true) ==
        Judgement{ReplicationOutcome::Confirmed, Size::Smaller, report::Reading::TimeSaved});
  CHECK(report::judge(-30, -80, -60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Larger});
  CHECK(report::judge(-30, 2, 9, true) ==
        Judgement{ReplicationOutcome::Reversed, Size::Smaller, report::Reading::TimeSaved});
  CHECK(report::judge(-30, -2, 9, true) ==
        Judgement{ReplicationOutcome::Undecided, Size::Smaller, report::Reading::TimeSaved});
}

TEST_CASE("a percentage may be of speed or of time saved, and the nearer reading is judged", "[report]") {
  using report::Reading;
  CHECK(report::gain_percent(54, Reading::Speed) == 54);
  CHECK(report::gain_percent(50, Reading::TimeSaved) == Catch::Approx(100));   // half the time: twice the speed
  CHECK(report::gain_percent(-25, Reading::TimeSaved) == Catch::Approx(-20));  // a quarter more time: 1 / 1.25
  CHECK(report::gain_percent(100, Reading::TimeSaved) == std::numeric_limits<double>::infinity());
  // 54 % of the time saved is 2.17 times the speed.
  CHECK(report::judge(54, 110, 125, true) ==
        Judgement{ReplicationOutcome::Confirmed, Size::Inside, Reading::TimeSaved});
  CHECK(report::judge(54, 50, 60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Inside, Reading::Speed});
  // Where both lie in the interval, it is speed.
  CHECK(report::judge(54, 50, 125, true).reading == Reading::Speed);
}

TEST_CASE("similar is confirmed within the margin, and reversed beyond it", "[report]") {
  const auto similar = published_of(report::PublishedKind::Same, 10);
  CHECK(report::judge(similar, -8, 9, true).finding == ReplicationOutcome::Confirmed);
  CHECK(report::judge(similar, -6, 11, true).finding == ReplicationOutcome::Undecided);
  CHECK(report::judge(similar, -9.5, 5, true).finding == ReplicationOutcome::Undecided);  // 1 / 1.1 is -9.09 %
  CHECK(report::judge(similar, 11, 20, true).finding == ReplicationOutcome::Reversed);
  CHECK(report::judge(similar, -67, -64, true).finding == ReplicationOutcome::Reversed);
  CHECK(report::judge(similar, -1, 1, false).finding == ReplicationOutcome::Undecided);
}

TEST_CASE("far behind is slower by more than the margin", "[report]") {
  const auto behind = published_of(report::PublishedKind::FarBehind, 25);
  CHECK(report::judge(behind, -53, -50, true).finding == ReplicationOutcome::Confirmed);
  CHECK(report::judge(behind, -22, -18, true).finding == ReplicationOutcome::Undecided);  // 1 / 1.25 is -20 %
  CHECK(report::judge(behind, -15, -5, true).finding == ReplicationOutcome::Reversed);
  CHECK(report::judge(behind, 3, 9, true).finding == ReplicationOutcome::Reversed);
}

TEST_CASE("an interaction is there where its interval excludes 0, and is not where all of it is small", "[report]") {
  const auto depends = published_of(report::PublishedKind::Interaction, 10);
  CHECK(report::judge(depends, 3, 20, true).finding == ReplicationOutcome::Confirmed);
  CHECK(report::judge(depends, -20, -3, true).finding == ReplicationOutcome::Confirmed);
  CHECK(report::judge(depends, -4, 6, true).finding == ReplicationOutcome::Reversed);
  CHECK(report::judge(depends, -4, 30, true).finding == ReplicationOutcome::Undecided);
}

TEST_CASE("epochs are stable where they scatter by less than the margin", "[report]") {
  const auto stable = published_of(report::PublishedKind::LaterEpochs, 5);
  CHECK(report::judge(stable, 1, 4, true).finding == ReplicationOutcome::Confirmed);
  CHECK(report::judge(stable, 4, 7, true).finding == ReplicationOutcome::Undecided);
  CHECK(report::judge(stable, 6, 9, true).finding == ReplicationOutcome::Reversed);
  CHECK(!report::scatter_of({{1.0}, {}}));
  // Variance 0.01 each over two processes: 20 degrees of freedom, chi-square quantiles 9.5908 and 34.1696.
  std::vector<double> epochs;
  for (int i = 0; i < 11; ++i) epochs.push_back(i == 10 ? 0 : (i % 2 == 0 ? 0.1 : -0.1));
  const auto found = report::scatter_of({epochs, epochs, {5.0}});
  REQUIRE(found);
  CHECK(found->processes == 2);
  CHECK(found->percent == Catch::Approx(100 * std::expm1(0.1)));
  CHECK(found->low_percent == Catch::Approx(100 * std::expm1(0.1 * std::sqrt(20 / 34.1696))).epsilon(1e-4));
  CHECK(found->high_percent == Catch::Approx(100 * std::expm1(0.1 * std::sqrt(20 / 9.5908))).epsilon(1e-4));
}

TEST_CASE("what was not interleaved decides nothing, and a published result without a size has none", "[report]") {
  CHECK(report::judge(54, 50, 60, false) == Judgement{ReplicationOutcome::Undecided, Size::Unknown});
  CHECK(report::judge(std::nullopt, 50, 60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Unknown});
  CHECK(report::judge(std::nullopt, -5, -1, true).finding == ReplicationOutcome::Reversed);
}

TEST_CASE("a judgement is a sentence", "[report]") {
  CHECK(report::sentence_of({ReplicationOutcome::Confirmed, Size::Inside}) == "confirmed, as large as published");
  CHECK(report::sentence_of({ReplicationOutcome::Confirmed, Size::Smaller}) == "confirmed, but smaller");
  CHECK(report::sentence_of({ReplicationOutcome::Undecided, Size::Smaller}) ==
        "undecided, the published size is excluded");
  CHECK(report::sentence_of({ReplicationOutcome::Reversed, Size::Smaller}) == "reversed");
  CHECK(report::sentence_of({}) == "not measured");
}

TEST_CASE("'none' of a published result also means a parameter that is absent, and the device is the CPU unless said",
          "[report]") {
  const report::PublishedResult published = published_on_xla();
  const auto is_reference = [&](const nlohmann::json& settings) {
    return report::is_side(published, published.reference, settings_of(settings), kNothing);
  };
  CHECK(is_reference({{"framework", "tf"}, {"batch", 64}}));
  CHECK(is_reference({{"framework", "tf"}, {"graph_compiler", "none"}}));
  CHECK(!is_reference({{"framework", "tf"}, {"graph_compiler", "xla"}}));
  CHECK(!is_reference({{"framework", "tf"}, {"device", "gpu"}}));
  CHECK(!report::is_side(published, published.candidate, settings_of({{"framework", "tf"}}), kNothing));
}

TEST_CASE("two sides that differ in more than the published result is about are no evidence", "[report]") {
  const report::PublishedResult published = published_on_xla();
  const auto reference = settings_of({{"framework", "tf"}, {"graph_compiler", "none"}, {"batch", 64}});
  const auto differs = [&](const nlohmann::json& settings) {
    return report::differ_as_published(published, reference, settings_of(settings), kNothing);
  };
  CHECK(differs({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 64}}));
  CHECK(!differs({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 128}}));
  // What one of the values activates belongs to it.
  CHECK(differs({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 64}, {"clusters", true}}));
}

TEST_CASE("a side is told by the labels of what trains, not by its name", "[report]") {
  const auto known = two_sources();
  const auto built = side_of({{"framework", "tensorflow"}, {"version", "2.1"}, {"source", "opt-build"}});
  CHECK(report::is_side(built, settings_of({{"framework", "ours"}}), known));
  CHECK(!report::is_side(built, settings_of({{"framework", "tensorflow-2.1-hub"}}), known));
  CHECK(!report::is_side(built, settings_of({{"framework", "theirs"}}), known));
  // A parameter `source` says it where there is one.
  CHECK(report::is_side(built, settings_of({{"framework", "tensorflow-2.1"}, {"source", "opt-build"}}), known));
  CHECK(!report::is_side(built, settings_of({{"framework", "tensorflow-2.1"}, {"source", "pip"}}), known));
  CHECK(report::side_words(built, known) == "framework=ours");
  CHECK(report::side_words(built, kNothing) == "framework=tensorflow-2.1,source=opt-build");
}

TEST_CASE("what a hub has is compared in a container", "[report]") {
  const auto published_results =
      report::read_published_results(R"({"results": [{"id": "x", "title": "x", "sentence": "x",
    "network": "n", "device": "cpu", "reference": {"framework": "tensorflow", "source": "hub"},
    "candidate": {"framework": "tensorflow", "source": "opt-build"}}]})");
  REQUIRE(published_results);
  const report::PublishedSide& built = published_results->at(0).candidate;
  const auto known = two_sources();
  CHECK(report::is_side(built, settings_of({{"framework", "ours"}, {"container", "charliecloud"}}), known));
  CHECK(!report::is_side(built, settings_of({{"framework", "ours"}, {"container", "host"}}), known));
  CHECK(!report::is_side(built, settings_of({{"framework", "ours"}}), known));
  CHECK(report::side_words(built, known) == "framework=tensorflow,source=opt-build,container=podman");
}

TEST_CASE("what both sides leave free is the same on both", "[report]") {
  const auto known = two_sources();
  const auto hub = side_of({{"source", "hub"}}), built = side_of({{"source", "opt-build"}});
  const auto from = [&](const char* framework) { return settings_of({{"framework", framework}}); };
  CHECK(report::differ_as_sides(hub, built, from("tensorflow-2.1-hub"), from("ours"), known));
  CHECK(!report::differ_as_sides(hub, built, from("tensorflow-2.1-hub"), from("theirs"), known));
  // Two sides with the same labels train with the same recipe.
  const auto plain = side_of({{"framework", "tensorflow"}}),
             xla = side_of({{"framework", "tensorflow"}, {"xla", true}});
  CHECK(!report::differ_as_sides(plain, xla, from("tensorflow-2.1-hub"), from("ours"), known));
}

TEST_CASE("what comes with a package tells it from one of the same version without it", "[report]") {
  report::FrameworkLabels known{{"mxnet-1.6", {.name = "mxnet", .version = "1.6"}},
                                {"mxnet-mkl-1.6", {.name = "mxnet", .version = "1.6", .has = {{"mkl-dnn", ""}}}}};
  const auto with = side_of({{"framework", "mxnet"}, {"has", "mkl-dnn"}});
  const auto without = side_of({{"framework", "mxnet"}, {"lacks", "mkl-dnn"}});
  CHECK(report::side_words(with, known) == "framework=mxnet-mkl-1.6");
  CHECK(report::side_words(without, known) == "framework=mxnet-1.6");
  CHECK_THAT(report::read_side({{"framework", 3}}).error(), ContainsSubstring("'framework'"));
}

TEST_CASE("the picture has what the paper says, what came along and pairs of this machine", "[report]") {
  report::PublishedResult published = published_on_xla();
  published.group = "A & B";
  published.title = "XLA";
  published.shipped = {{.machine = "m", .percent = -20, .low_percent = -25, .high_percent = -15, .repetitions = 6}};
  const report::Evidence pairs{.percent = -10, .low_percent = -99.9, .high_percent = 900};
  report::Evidence alone = pairs;
  alone.grade = report::Grade::Trials;
  const std::string drawn = report::published_picture({{published, pairs}});
  CHECK_THAT(drawn, ContainsSubstring("A &amp; B") && ContainsSubstring("class=\"paper\"") &&
                        ContainsSubstring("<circle class=\"before\"") && ContainsSubstring("<circle class=\"here\"") &&
                        ContainsSubstring("x1=\"330.0\" x2=\"880.0\""));  // ends at those of the axis
  CHECK_THAT(report::published_picture({{published, alone}}), !ContainsSubstring("<circle class=\"here\""));
}

TEST_CASE("docs/paper.svg is what 'nocturne report paper --picture docs/paper.svg' draws where nothing was measured",
          "[report]") {
  const auto published_results = report::read_published_results(report::published_results_of_paper_text());
  REQUIRE(published_results);
  std::vector<report::PicturedResult> results;
  for (const report::PublishedResult& each : *published_results) results.push_back({.published = each, .evidence = {}});
  const auto shipped = space::read_file(std::filesystem::path(NOCTURNE_SOURCE_DIR) / "docs" / "paper.svg", 1 << 20);
  REQUIRE(shipped);
  CHECK(*shipped == report::published_picture(results));
}

TEST_CASE("a side is written as words for the command line", "[report]") {
  CHECK(report::side_words(published_on_xla().candidate, kNothing) == "framework=tf,graph_compiler=xla");
}

}  // namespace nocturne::test
