#include "tuner/preview/first_campaign.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace nocturne::tuner {
namespace {

constexpr const char* kOwn = "onednn";  // the worker that is built here, where there is a compiler

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

std::string quoted(const std::vector<std::string>& words) {
  return nlohmann::json(words).dump();
}

/// What may be said behind "//": one line of letters that end no comment.
std::string said(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// A parameter that only our own worker reads says so, where others are tried, too.
std::string only_own(const FoundHere& found) {
  return found.frameworks.size() > 1 ? fmt::format(", \"active_if\": \"framework == '{}'\"", kOwn) : "";
}

/// Lines of the list `parameters`, without their commas; a comment stands above the parameter it explains.
std::vector<std::string> build_parameters(const FoundHere& found) {
  std::vector<std::string> lines;
  if (!has(found.frameworks, kOwn) || found.compilers.empty()) return lines;
  if (found.compilers != std::vector<std::string>{"g++"}) {  // which is the default
    lines.push_back(
        fmt::format("      // Who compiles the loops around oneDNN; a build takes half a minute and is kept.\n"
                    "      {{\"name\": \"compiler\", \"stage\": \"build\", \"values\": {}{}}}",
                    quoted(found.compilers), only_own(found)));
  }
  lines.push_back(
      fmt::format("      // Which processors the program runs on: any, or this one and its like.\n"
                  "      {{\"name\": \"march\", \"stage\": \"build\", \"values\": [\"x86-64\", \"native\"]{}}}",
                  only_own(found)));
  return lines;
}

/// Slower cores make the faster ones wait at each barrier: without tuning one would leave them out.
std::string thread_parameter(const FoundHere& found) {
  const bool hybrid = found.fast_cores > 0 && found.fast_cores < found.cores;
  return fmt::format(
      "      // Threads that compute: this machine has {} {}{}.\n"
      "      {{\"name\": \"threads\", \"stage\": \"run\", \"range\": [1, \"machine.cores\"], "
      "\"default\": \"machine.{}\"}}",
      found.cores, found.cores == 1 ? "core" : "cores",
      hybrid ? fmt::format(", {} of them fast, which the default takes", found.fast_cores) : "",
      hybrid ? "fast_cores" : "cores");
}

/// Where threads and their memory sit, as far as there is a choice here.
std::vector<std::string> placing_parameters(const FoundHere& found) {
  const std::string caches = has(found.affinities, "l3") ? ", in one L3 cache before the next" : "";
  const std::string nodes = has(found.affinities, "numa") ? ", in one memory node before the next" : "";
  std::vector<std::string> lines = {
      fmt::format("      // Where threads sit: anywhere, on neighbouring cores, as far apart as possible{}{}.\n"
                  "      {{\"name\": \"affinity\", \"stage\": \"run\", \"values\": {}}}",
                  caches, nodes, quoted(found.affinities))};
  if (found.memory_policies.empty()) return lines;
  lines.push_back(
      fmt::format("      // Which of the memory nodes: the one nearest to who first writes, all in turns, or only the "
                  "threads' own.\n"
                  "      {{\"name\": \"memory_policy\", \"stage\": \"run\", \"values\": {}}}",
                  quoted(found.memory_policies)));
  return lines;
}

std::vector<std::string> run_parameters(const FoundHere& found) {
  std::vector<std::string> lines = {
      thread_parameter(found),
      "      // Images a step. Larger ones also change what is learnt in an epoch; take it out to keep what you have.\n"
      "      {\"name\": \"batch\", \"stage\": \"run\", \"values\": [32, 64, 128, 256], \"default\": 128}"};
  if (has(found.frameworks, kOwn) && found.has_bf16) {
    lines.push_back(
        fmt::format("      // This processor computes with 16 bits; the weights are kept in 32.\n"
                    "      {{\"name\": \"precision\", \"stage\": \"run\", \"values\": [\"f32\", \"bf16\"]{}}}",
                    only_own(found)));
  }
  if (has(found.frameworks, kOwn) && found.has_avx512) {
    lines.push_back(
        fmt::format("      // The newest instructions oneDNN may use: wider ones are not always faster.\n"
                    "      {{\"name\": \"isa_cap\", \"stage\": \"run\", \"values\": [\"none\", \"avx2\"]{}}}",
                    only_own(found)));
  }
  for (auto& line : placing_parameters(found)) lines.push_back(std::move(line));
  lines.emplace_back(
      "      // Whether threads that wait for each other spin or sleep.\n"
      "      {\"name\": \"wait_policy\", \"stage\": \"run\", \"values\": [\"default\", \"active\", \"passive\"]}");
  if (found.allocators.size() > 1) {
    lines.push_back(
        fmt::format("      // Who serves malloc; these are installed here.\n"
                    "      {{\"name\": \"allocator\", \"stage\": \"run\", \"values\": {}}}",
                    quoted(found.allocators)));
  }
  return lines;
}

std::string framework_parameter(const FoundHere& found) {
  const std::string more = found.more.empty() ? ""
                                              : fmt::format("      // Installed when they are named here: {}.\n",
                                                            said(fmt::format("{}", fmt::join(found.more, ", "))));
  const std::string built = has(found.frameworks, kOwn) && found.compilers.empty()
                                ? "      // There is no compiler with the worker's headers: onednn is the program that "
                                  "came along, and how it is built does not vary.\n"
                                : "";
  return fmt::format(
      "      // What trains: these are here already.\n{}{}"
      "      {{\"name\": \"framework\", \"stage\": \"environment\", \"values\": {}}}",
      built, more, quoted(found.frameworks));
}

/// bf16 and the caps of instructions exclude each other: the caps take its instructions away.
std::string constraints(const FoundHere& found) {
  if (!has(found.frameworks, kOwn) || !found.has_bf16 || !found.has_avx512) return "";
  return ",\n    // What makes no sense is not tried; the sentence says why.\n"
         "    \"constraints\": [\n"
         "      {\"require\": \"precision == 'f32' or isa_cap == 'none'\",\n"
         "       \"because\": \"the caps take the bf16 instructions away\"}]";
}

}  // namespace

std::string first_campaign(const FoundHere& found) {
  std::vector<std::string> parameters = {framework_parameter(found)};
  for (auto& line : build_parameters(found)) parameters.push_back(std::move(line));
  for (auto& line : run_parameters(found)) parameters.push_back(std::move(line));
  const std::string machine =
      fmt::format("{}{} {}, {:.0f} GiB", found.cpu_model.empty() ? "" : said(found.cpu_model) + ", ", found.cores,
                  found.cores == 1 ? "core" : "cores", static_cast<double>(found.memory_bytes) / (1 << 30));
  return fmt::format(
      R"(// A first campaign for this machine ({0}): which configuration trains the MNIST network fastest?
//
//   nocturne tune {1} --dry-run    what would be done, and how long it takes
//   nocturne tune {1}              measure; Ctrl-C ends after the run in flight, the same command goes on
//
// JSON with comments. 'nocturne schema campaign' says what may stand here. For a training of your own there is no need
// of a file: nocturne tune -- python train.py
{{
  "campaign": "first",

  // What is trained: a small network on 60,000 images of handwritten digits.
  "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},

  // Who trains one epoch waits for the start, with 90 only the steps count. The search uses the primary one.
  "objective": {{"minimise": "time", "epochs": [1, 12, 90], "primary": 12}},

  // What may vary. The first value of a list is its default, where none is named: what a sensible user takes without
  // tuning, and what the best is compared with.
  "space": {{
    "parameters": [
{2}
    ]{3}
  }},

  "strategy": {{"name": "auto", "seed": 1}},

  // Time for everything. For a whole night: {{"until": "07:00"}}.
  "budget": {{"wall": "10min"}},

  // One run: enough steps to tell configurations apart, and when it is ended at the latest.
  "run": {{"steps": 24, "deadline": "60s"}}
}}
)",
      machine, said(found.file), fmt::join(parameters, ",\n"), constraints(found));
}

}  // namespace nocturne::tuner
