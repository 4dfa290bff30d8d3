#include "measure/run/event_reader.hpp"

#include <fmt/core.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

#include "measure/protocol/event_writer.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
using std::chrono::nanoseconds;

namespace {

constexpr const char* kHello = R"({"event":"hello","protocol":1,"worker":"w"})";

// What the reader makes of a file with this text.
Events read_text(const std::string& text, std::int64_t cap = 1 << 20) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "events") << text;
  EventReader reader("events", cap);
  reader.read(RunFolder::open(folder.path()).value());
  return reader.events();
}

std::string error_of(const std::string& line) {
  const Events events = read_text(std::string(kHello) + '\n' + line + '\n');
  return events.error ? std::to_string(events.error->line) + ": " + events.error->what : "";
}

}  // namespace

TEST_CASE("the reader understands all that the writer writes", "[events]") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "events";
  protocol::EventWriter writer(path.string());
  const RunFolder held = RunFolder::open(folder.path()).value();
  EventReader reader(path.filename().string(), 1 << 20);
  writer.hello("onednn");
  writer.phase_begin("build");
  CHECK(reader.read(held));
  CHECK(reader.events().open_phase() == "build");
  CHECK_FALSE(reader.read(held));
  writer.phase_end("build");
  writer.ready({{"threads", 2}});
  writer.sample({.first_step = 1, .steps = 2, .wall_ns = 3000, .cpu_ns = 5000, .data_wait_ns = 7, .loss = 2.5});
  writer.epoch(0, nanoseconds(1'500'000'000), 0.25);
  writer.accuracy_after(117, 0.93, 0.2, 10'000);
  writer.accuracy_after(234, 0.95, std::numeric_limits<double>::infinity(), 10'000);
  writer.accuracy(0.975, 0.1, 10'000);
  writer.norms(0, {{.layer = "conv1.biases", .norm = 0, .moved = 0}});
  writer.norms(8, {{.layer = "conv1.biases", .norm = 0.25, .moved = std::nan("")}});
  writer.device({{"name", "G"},
                 {"readings", 3},
                 {"energy_j", 60.5},
                 {"sm_clock_mhz", {{"min", 1.0}, {"mean", 2.0}, {"max", 3.0}}},
                 {"temperature_c", {{"min", 40}, {"max", 80}}},
                 {"throttled", {{"thermal", 0.25}}},
                 {"new", true}});
  writer.memory(1000, 20);
  writer.end("ok", "");
  CHECK(reader.read(held));

  const Events& events = reader.events();
  CHECK_FALSE(events.error);
  CHECK(events.worker == "onednn");
  CHECK(events.open_phase().empty());
  REQUIRE(events.phases.size() == 1);
  CHECK(events.phases[0].finished);
  CHECK(events.ready == nlohmann::json{{"threads", 2}});
  REQUIRE(events.samples.size() == 1);
  CHECK(events.samples[0] == space::Sample{1, 2, nanoseconds(3000), nanoseconds(5000), nanoseconds(7), 2.5});
  CHECK(events.steps() == 2);
  REQUIRE(events.epochs.size() == 1);
  CHECK(events.epochs[0] == space::Epoch{0, nanoseconds(1'500'000'000), 0.25});
  CHECK(events.accuracy == space::Accuracy{0.975, 0.1, 10'000});
  CHECK(events.curve == std::vector<space::CurvePoint>{{.steps = 117, .test = {0.93, 0.2, 10'000}},
                                                       {.steps = 234, .test = {0.95, 0, 10'000}}});
  REQUIRE(events.norms.size() == 2);
  CHECK(events.norms[0] == space::Norm{0, "conv1.biases", 0.0, 0.0});
  CHECK(events.norms[1] == space::Norm{8, "conv1.biases", 0.25, std::nullopt});
  CHECK(events.memory == space::Memory{1000, 20});
  CHECK(events.device == space::DeviceReport{.name = "G",
                                             .readings = 3,
                                             .energy_j = 60.5,
                                             .sm_clock_mhz = {.min = 1, .mean = 2, .max = 3},
                                             .memory_clock_mhz = {},
                                             .temperature_c = {.min = 40, .mean = {}, .max = 80},
                                             .power_w = {},
                                             .throttled = {{"thermal", 0.25}}});
  REQUIRE(events.end);
  CHECK(events.end->status == "ok");
}

TEST_CASE("a torn last line is no error, and is read when its rest arrives", "[events]") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "events";
  const RunFolder held = RunFolder::open(folder.path()).value();
  EventReader reader(path.filename().string(), 1 << 20);
  CHECK_FALSE(reader.read(held));  // not there yet
  std::ofstream file(path);
  file << kHello << "\n{\"event\":\"end\",\"sta" << std::flush;
  reader.read(held);
  CHECK(reader.events().torn);
  CHECK_FALSE(reader.events().error);
  CHECK_FALSE(reader.events().end);
  file << "tus\":\"ok\"}\n" << std::flush;
  CHECK(reader.read(held));
  CHECK_FALSE(reader.events().torn);
  CHECK(reader.events().end);
}

TEST_CASE("what breaks the protocol is an error with its line", "[events]") {
  CHECK_THAT(error_of("42 ms"), ContainsSubstring("2: not JSON"));
  CHECK_THAT(error_of("[1]"), ContainsSubstring("2: not an event"));
  CHECK_THAT(error_of(R"({"event":"hello","protocol":1,"worker":"w"})"), ContainsSubstring("twice"));
  CHECK_THAT(error_of(R"({"event":"phase_end","name":"build","wall_s":1,"cpu_s":1})"),
             ContainsSubstring("has not begun"));
  CHECK_THAT(error_of(R"({"event":"phase_begin"})"), ContainsSubstring("'name' is missing"));
  CHECK_THAT(error_of(R"({"event":"epoch","index":0,"wall_s":-1})"), ContainsSubstring("no possible duration"));
  CHECK_THAT(error_of(R"({"event":"epoch","index":0,"wall_s":1e300})"), ContainsSubstring("no possible duration"));
  CHECK_THAT(error_of(R"({"event":"accuracy","accuracy":1.5,"loss":0,"examples":1})"),
             ContainsSubstring("between 0 and 1"));
  CHECK_THAT(error_of(R"({"event":"accuracy","steps":9,"accuracy":0.5,"loss":0,"examples":1})"
                      "\n"
                      R"({"event":"accuracy","steps":9,"accuracy":0.5,"loss":0,"examples":1})"),
             ContainsSubstring("3: accuracy: after 9 steps"));
  CHECK_THAT(error_of(R"({"event":"end","status":"fine"})"), ContainsSubstring("'fine' is unknown"));
  CHECK_THAT(error_of(R"({"event":"sample","first_step":1,"steps":0,"wall_ns":1,"cpu_ns":0,"data_wait_ns":0})"),
             ContainsSubstring("'steps' is 0"));
  CHECK_THAT(error_of(R"({"event":"sample","first_step":1,"steps":1,"wall_ns":"1","cpu_ns":0,"data_wait_ns":0})"),
             ContainsSubstring("'wall_ns' is not an integer"));
  CHECK_THAT(error_of(R"({"event":"norms","steps":1,"layers":[]})"), ContainsSubstring("no list of layers"));
  CHECK_THAT(error_of(R"({"event":"norms","steps":1,"layers":[7]})"), ContainsSubstring("no layer"));
  CHECK_THAT(error_of(R"({"event":"norms","steps":1,"layers":[{"layer":"a","norm":"big"}]})"),
             ContainsSubstring("'norm' is neither a number nor"));
  const std::string norms = R"({"event":"norms","steps":1,"layers":[{"layer":"a","norm":1,"moved":1}]})";
  CHECK_THAT(error_of(norms + '\n' + norms), ContainsSubstring("3: norms: after 1 steps, those after 1 came already"));
  CHECK_THAT(error_of(R"({"event":"device","readings":1})"), ContainsSubstring("'name' is missing"));
  CHECK_THAT(error_of(R"({"event":"device","name":"G","readings":0})"), ContainsSubstring("'readings' is 0"));
  CHECK_THAT(error_of(R"({"event":"device","name":"G","readings":1,"power_w":300})"),
             ContainsSubstring("'power_w' is no object"));
  CHECK_THAT(error_of(R"({"event":"device","name":"G","readings":1,"power_w":{"max":"hot"}})"),
             ContainsSubstring("'max' is not a number"));
  CHECK_THAT(error_of(R"({"event":"device","name":"G","readings":1,"throttled":["thermal"]})"),
             ContainsSubstring("no object of reasons"));
  CHECK_THAT(error_of(R"({"event":"device","name":"G","readings":1,"throttled":{"thermal":2}})"),
             ContainsSubstring("'thermal' is 2, no share"));
  const std::string device = R"({"event":"device","name":"G","readings":1})";
  CHECK(error_of(device).empty());
  CHECK_THAT(error_of(device + '\n' + device), ContainsSubstring("3: device: comes twice"));
  CHECK_THAT(error_of("{\"event\":\"phase_begin\",\"name\":\"\xff\"}"), ContainsSubstring("2: not JSON"));
  CHECK(error_of(R"({"event":"something new","value":1})").empty());
  CHECK(error_of(R"({"event":"memory","peak_rss_bytes":1,"device_bytes":0,"new":true})").empty());
}

TEST_CASE("numbers of steps and times stay where they can be added", "[events]") {
  const auto sample = [](const char* first, const char* steps, const char* wall, const char* cpu) {
    return fmt::format(R"({{"event":"sample","first_step":{},"steps":{},"wall_ns":{},"cpu_ns":{},"data_wait_ns":0}})",
                       first, steps, wall, cpu);
  };
  constexpr const char* kLast = "9223372036854775807";
  CHECK_THAT(error_of(sample(kLast, "1", "9", "0")), ContainsSubstring("there is no such step"));
  CHECK_THAT(error_of(sample("5", kLast, "9", "0")), ContainsSubstring("there is no such step"));
  CHECK(error_of(sample("0", kLast, "9", "0")).empty());
  CHECK_THAT(error_of(sample("1", "1", kLast, "0")), ContainsSubstring("2: sample: 'wall_ns' is 9223372036.8"));
  CHECK_THAT(error_of(sample("1", "1", "9", kLast)), ContainsSubstring("2: sample: 'cpu_ns' is 9223372036.8"));
  // Each is possible, both are not.
  constexpr const char* kMostOfAYear = "30000000000000000";
  CHECK_THAT(error_of(sample("1", "1", kMostOfAYear, "0") + '\n' + sample("2", "1", kMostOfAYear, "0")),
             ContainsSubstring("3: sample: 'wall_ns' is 30000000 s, with those before it no possible duration"));
  const std::string epoch = R"({"event":"epoch","index":0,"wall_s":3e7})";
  CHECK_THAT(error_of(epoch + '\n' + epoch), ContainsSubstring("3: epoch: "));
  const std::string phase = R"({"event":"phase_begin","name":"p"})"
                            "\n"
                            R"({"event":"phase_end","name":"p","wall_s":3e7,"cpu_s":1})";
  CHECK_THAT(error_of(phase + '\n' + phase), ContainsSubstring("5: phase_end: "));
}

TEST_CASE("phases are as many as somebody may mean, and no more", "[events]") {
  std::string text = std::string(kHello) + '\n';
  for (int phase = 0; phase < 65'536; ++phase)
    text += fmt::format("{{\"event\":\"phase_begin\",\"name\":\"{}\"}}\n", phase);
  const Events many = read_text(text, 64 << 20);
  CHECK_FALSE(many.error);
  CHECK(many.open_phase() == "65535");
  const Events more = read_text(text + "{\"event\":\"phase_begin\",\"name\":\"x\"}\n", 64 << 20);
  REQUIRE(more.error);
  CHECK(more.error->line == 65'538);
  CHECK_THAT(more.error->what, ContainsSubstring("more than 65536 phases"));
  CHECK(more.phases.size() == 65'536);
}

TEST_CASE("a phase may come again once it has ended, and each end finds its begin", "[events]") {
  const auto begin = [](const char* name) { return fmt::format(R"({{"event":"phase_begin","name":"{}"}})", name); };
  const auto end = [](const char* name, int seconds) {
    return fmt::format(R"({{"event":"phase_end","name":"{}","wall_s":{},"cpu_s":0}})", name, seconds);
  };
  std::string text = std::string(kHello) + '\n';
  for (const std::string& line : {begin("a"), begin("first_step"), end("a", 1), begin("a"), end("first_step", 2)})
    text += line + '\n';
  const Events events = read_text(text);
  REQUIRE_FALSE(events.error);
  REQUIRE(events.phases.size() == 3);
  CHECK(events.phases[0].wall == std::chrono::seconds(1));
  CHECK(events.phases[1].wall == std::chrono::seconds(2));
  CHECK_FALSE(events.phases[2].finished);
  CHECK(events.open_phase() == "a");
  CHECK(events.first_step_done);
  CHECK(events.lines.phases == std::vector<std::int64_t>{4, 6, 5});
  CHECK_THAT(error_of(begin("a") + '\n' + begin("a")), ContainsSubstring("3: phase_begin: 'a' has begun already"));
  CHECK_THAT(error_of(begin("a") + '\n' + end("a", 1) + '\n' + end("a", 1)),
             ContainsSubstring("4: phase_end: 'a' has not begun"));
}

TEST_CASE("the first event must be hello in our version", "[events]") {
  CHECK_THAT(read_text("{\"event\":\"memory\",\"peak_rss_bytes\":1,\"device_bytes\":0}\n").error.value().what,
             ContainsSubstring("before 'hello'"));
  CHECK_THAT(read_text("{\"event\":\"hello\",\"protocol\":2,\"worker\":\"w\"}\n").error.value().what,
             ContainsSubstring("protocol 2, this tuner speaks 1"));
}

TEST_CASE("a loss that is not finite is remembered with its step", "[events]") {
  const Events events = read_text(
      std::string(kHello) + "\n" +
      R"({"event":"sample","first_step":1,"steps":4,"wall_ns":9,"cpu_ns":0,"data_wait_ns":0,"loss":"nan"})" + "\n");
  CHECK_FALSE(events.error);
  CHECK(events.not_finite_at == 4);
  CHECK_FALSE(events.samples.at(0).loss);
}

TEST_CASE("brackets without end are an error, not the end of the tuner", "[events]") {
  const std::string deep(400'000, '[');
  const Events events = read_text(std::string(kHello) + "\n{\"event\":\"ready\",\"threads\":" + deep +
                                  std::string(deep.size(), ']') + "}\n");
  CHECK_THAT(events.error.value().what, ContainsSubstring("nested more than 100 deep"));
  CHECK(events.ready.is_null());
}

TEST_CASE("a file beyond its cap, and a line without end, are cut off", "[events]") {
  std::string many = std::string(kHello) + '\n';
  while (many.size() < 200'000) many += "{\"event\":\"x\"}\n";
  const Events cut = read_text(many, 100'000);
  CHECK(cut.overflow);
  CHECK_THAT(cut.error.value().what, ContainsSubstring("more than 100000 bytes"));
  const Events endless = read_text(std::string(3 << 20, 'x'), 64 << 20);
  CHECK(endless.overflow);
  CHECK_THAT(endless.error.value().what, ContainsSubstring("a line longer than"));
}
TEST_CASE("samples that say what their time goes into give shares of a step", "[events]") {
  const Events reader = read_text(
      std::string(kHello) +
      "\n{\"event\":\"ready\",\"threads\":2}\n"
      R"({"event":"sample","first_step":1,"steps":1,"wall_ns":100,"cpu_ns":0,"data_wait_ns":30,"forward_ns":20,"backward_ns":40})"
      "\n"
      R"({"event":"sample","first_step":2,"steps":1,"wall_ns":300,"cpu_ns":0,"data_wait_ns":10,"forward_ns":80,"backward_ns":60})"
      "\n");
  CHECK_FALSE(reader.error);
  const nlohmann::json share = reader.ready.at("share");
  CHECK(share.at("data") == 0.1);
  CHECK(share.at("forward") == 0.25);
  CHECK(share.at("backward") == 0.25);
  CHECK_FALSE(share.contains("optimizer"));
  CHECK(std::abs(share.at("other").get<double>() - 0.4) < 1e-12);
  const Events without_loader = read_text(
      std::string(kHello) +
      "\n{\"event\":\"ready\",\"threads\":2}\n"
      R"({"event":"sample","first_step":1,"steps":1,"wall_ns":100,"cpu_ns":0,"data_wait_ns":0,"forward_ns":20,"backward_ns":40})"
      "\n");
  CHECK_FALSE(without_loader.ready.at("share").contains("data"));
  CHECK_THAT(
      error_of(
          R"({"event":"sample","first_step":1,"steps":1,"wall_ns":1,"cpu_ns":0,"data_wait_ns":0,"forward_ns":-1})"),
      ContainsSubstring("forward_ns"));
}
