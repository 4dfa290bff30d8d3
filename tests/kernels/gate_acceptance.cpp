/// Wrong trainers through both parts of the gate, on real MNIST: who is caught, by which part, and by how much.
///
///   nocturne-gate-acceptance --data examples/data/mnist [--seeds N] [--right N] [--batch N] [--threads N]
///     [--precision P] [--only NAME] [--keep FILE] [--json]
///
/// First the exact part: four steps of the epoch's end without dropout, against the reference of the same seed. Then
/// the statistical one: one whole epoch with its partial batch, dropout on, against as many seeds of the reference
/// (--seeds, 6 as in a campaign), and the accuracy after it against that of the reference's first seed. The error is in
/// the gradients, labels or weights of our own worker; `right` is the worker as it is, with other seeds, and must raise
/// no alarm.
///
/// Takes seeds + right + 6 epochs, and a word on standard error about each. With --keep an epoch that was trained is
/// not trained again (the file belongs to one batch size, precision and number of threads, and is refused with others).
/// Exit code: 0 every wrong trainer was caught and no right one, 1 not so, 2 wrong usage, 77 there is no MNIST.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/gate/gate.hpp"
#include "measure/gate/loss_band.hpp"
#include "space/outcome.hpp"
#include "space/run.hpp"
#include "tests/kernels/planted_error.hpp"
#include "tests/kernels/recording_reporter.hpp"

namespace nocturne::test {
namespace {

constexpr int kSkipped = 77;
constexpr std::uint64_t kFirstRightSeed = 1001, kWrongSeed = 2001;  // no reference's
constexpr int kGateSteps = 4;

struct Options {
  std::string data = "examples/data/mnist", only, keep, precision = "f32";
  std::int64_t seeds = 6, right = 2, batch = 128, threads = 0;
  bool json = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json") {
      options.json = true;
      continue;
    }
    const std::map<std::string, std::string*> texts = {{"--data", &options.data},
                                                       {"--only", &options.only},
                                                       {"--keep", &options.keep},
                                                       {"--precision", &options.precision}};
    const std::map<std::string, std::int64_t*> numbers = {{"--seeds", &options.seeds},
                                                          {"--right", &options.right},
                                                          {"--batch", &options.batch},
                                                          {"--threads", &options.threads}};
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value, or is no option");
    const std::string value = argv[++i];
    if (const auto text = texts.find(name); text != texts.end())
      *text->second = value;
    else if (const auto number = numbers.find(name); number != numbers.end())
      *number->second = std::stoll(value);
    else
      throw std::invalid_argument("there is no option " + name);
  }
  if (options.seeds < static_cast<std::int64_t>(measure::kFewestReferences))
    throw std::invalid_argument(fmt::format("--seeds: a band needs {} at least", measure::kFewestReferences));
  if (!options.only.empty()) static_cast<void>(planted(options.only));  // of nobody, everybody would be caught
  return options;
}

/// Epochs that were trained, a JSON line each; the first line says with what.
class KeptEpochs {
 public:
  KeptEpochs(std::string file, const nlohmann::json& settings) : file_(std::move(file)) {
    if (file_.empty()) return;
    std::ifstream in(file_);
    std::string line;
    if (!std::getline(in, line)) {
      std::ofstream(file_) << settings.dump() << '\n';
      return;
    }
    if (nlohmann::json::parse(line, nullptr, false) != settings)
      throw std::invalid_argument(fmt::format("{} belongs to {}, not to {}", file_, line, settings.dump()));
    while (std::getline(in, line)) {
      const auto stored = nlohmann::json::parse(line, nullptr, false);
      if (stored.is_object()) known_.insert_or_assign(stored.at("who").get<std::string>(), stored);  // else torn
    }
  }

  [[nodiscard]] std::optional<space::Run> find(const std::string& who) const {
    const auto found = known_.find(who);
    if (found == known_.end()) return std::nullopt;
    const nlohmann::json& stored = found->second;
    space::Run run;
    run.outcome = space::outcome_from_text(stored.at("outcome").get<std::string>()).value();
    run.reason = stored.at("reason").get<std::string>();
    std::int64_t step = stored.at("first_step").get<std::int64_t>();
    for (const auto& loss : stored.at("losses")) {
      auto& sample = run.samples.emplace_back(space::Sample{.first_step = step++, .steps = 1});
      if (loss.is_number()) sample.loss = loss.get<double>();
    }
    for (const auto& loss : stored.at("epochs"))
      run.epochs.push_back({.index = std::ssize(run.epochs), .wall = {}, .loss = loss.get<double>()});
    if (stored.contains("accuracy")) {
      run.accuracy = space::Accuracy{.accuracy = stored.at("accuracy").get<double>(),
                                     .loss = 0,
                                     .examples = stored.at("examples").get<std::int64_t>()};
    }
    return run;
  }

  void add(const std::string& who, const space::Run& run) {
    if (file_.empty()) return;
    nlohmann::json stored = {{"who", who},
                             {"outcome", space::to_text(run.outcome)},
                             {"reason", run.reason},
                             {"first_step", run.samples.empty() ? 0 : run.samples.front().first_step},
                             {"losses", nlohmann::json::array()},
                             {"epochs", nlohmann::json::array()}};
    for (const space::Sample& sample : run.samples)
      stored["losses"].push_back(sample.loss ? nlohmann::json(*sample.loss) : nlohmann::json());
    for (const space::Epoch& epoch : run.epochs) stored["epochs"].push_back(epoch.loss.value_or(0));
    if (run.accuracy) {
      stored["accuracy"] = run.accuracy->accuracy;
      stored["examples"] = run.accuracy->examples;
    }
    std::ofstream(file_, std::ios::app) << stored.dump() << '\n';
  }

 private:
  std::string file_;
  std::map<std::string, nlohmann::json> known_;
};

/// What became of a trainer.
struct Finding {
  std::string who;
  bool planted = true;
  std::string exact, losses, accuracy;  ///< sentences
  bool exact_caught = false, losses_caught = false, accuracy_caught = false;
  double exact_size = 0;          ///< relative difference
  double exact_of_tolerance = 0;  ///< the same in multiples of what is tolerated
  double losses_size = 0;         ///< in half widths of the band
  double accuracy_size = 0;       ///< points below the reference
  [[nodiscard]] bool caught() const { return exact_caught || losses_caught || accuracy_caught; }
};

class Acceptance {
 public:
  explicit Acceptance(const Options& options) : options_(options), kept_(options.keep, settings()) {
    configuration_["batch"] = options.batch;
    if (options.threads > 0) configuration_["threads"] = options.threads;
  }

  std::vector<Finding> run() {
    for (std::int64_t seed = 1; seed <= options_.seeds; ++seed) {
      references_.push_back(epoch(fmt::format("reference {}", seed), "f32", static_cast<std::uint64_t>(seed), {}));
      if (references_.back().outcome != space::Outcome::Ok)
        throw std::runtime_error("the reference does not train: " + references_.back().reason);
    }
    std::vector<Finding> findings;
    for (std::int64_t i = 0; i < options_.right; ++i) {
      const std::uint64_t seed = kFirstRightSeed + static_cast<std::uint64_t>(i);
      findings.push_back(judge(fmt::format("right, seed {}", seed), seed, {}));
      findings.back().planted = false;
    }
    for (const PlantedError& error : planted_errors()) {
      if (!options_.only.empty() && options_.only != error.name) continue;
      findings.push_back(judge(std::string(error.name), kWrongSeed, error.make()));
    }
    return findings;
  }

 private:
  [[nodiscard]] nlohmann::json settings() const {
    return {{"batch", options_.batch}, {"precision", options_.precision}, {"threads", options_.threads}};
  }

  [[nodiscard]] space::Run train(protocol::Request request, const std::string& precision,
                                 const onednn::Sabotage& sabotage) const {
    request.data_folder = std::filesystem::absolute(options_.data).string();
    request.configuration = configuration_;
    request.configuration["precision"] = precision;
    request.partial_batch = protocol::PartialBatch::Train;
    RecordingReporter reporter;
    static_cast<void>(onednn::run_request(request, reporter, nullptr, sabotage));  // the record says how it ended
    return std::move(reporter.run);
  }

  [[nodiscard]] space::Run epoch(const std::string& who, const std::string& precision, std::uint64_t seed,
                                 const onednn::Sabotage& sabotage) {
    if (auto known = kept_.find(who)) return std::move(*known);
    const auto began = std::chrono::steady_clock::now();
    protocol::Request request;
    request.seed = seed;
    request.epochs = 1;
    request.accuracy = true;
    space::Run run = train(request, precision, sabotage);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    fmt::print(stderr, "epoch of {}: {:.1f} s, {}\n", who, seconds,
               run.accuracy ? fmt::format("{:.2f} %", 100 * run.accuracy->accuracy) : run.reason);
    kept_.add(who, run);
    return run;
  }

  [[nodiscard]] space::Run exact_run(const std::string& precision, std::uint64_t seed,
                                     const onednn::Sabotage& sabotage) const {
    protocol::Request request;
    request.seed = seed;
    request.gate = protocol::GateRequest{.steps = kGateSteps, .write = {}};
    return train(request, precision, sabotage);
  }

  void judge_exactly(Finding& finding, const space::Run& reference, const space::Run& candidate) const {
    if (candidate.outcome != space::Outcome::Ok) {
      finding.exact_caught = true;
      finding.exact = candidate.reason;
      return;
    }
    const auto exact = measure::compare_gate(reference, candidate, measure::gate_tolerances(options_.precision));
    if (!exact) throw std::runtime_error(finding.who + ": " + exact.error());
    finding.exact_caught = !exact->agrees;
    finding.exact = exact->difference.sentence;
    finding.exact_size = exact->difference.size;
    finding.exact_of_tolerance = exact->difference.size / exact->difference.tolerance;
  }

  [[nodiscard]] Finding judge(const std::string& who, std::uint64_t seed, const onednn::Sabotage& sabotage) {
    Finding finding{.who = who};
    judge_exactly(finding, exact_run("f32", seed, {}), exact_run(options_.precision, seed, sabotage));

    const space::Run run = epoch(who, options_.precision, seed, sabotage);
    if (run.outcome != space::Outcome::Ok) {
      finding.losses_caught = true;
      finding.losses = run.reason;
      return finding;
    }
    const auto losses = measure::judge_losses(references_, run);
    if (!losses) throw std::runtime_error(who + ": " + losses.error());
    finding.losses_caught = !losses->inside;
    finding.losses = losses->sentence;
    finding.losses_size = losses->largest;
    const auto accuracy = measure::compare_accuracy(references_.front().accuracy.value(), run.accuracy.value());
    finding.accuracy_caught = accuracy.inferior;
    finding.accuracy = accuracy.sentence;
    finding.accuracy_size = accuracy.lower;
    return finding;
  }

  const Options& options_;
  nlohmann::json configuration_ = nlohmann::json::object();
  KeptEpochs kept_;
  std::vector<space::Run> references_;
};

void print_findings(const std::vector<Finding>& findings) {
  fmt::print("{:<22} {:<22} {:>24} {:>18} {:>18}\n", "trainer", "caught by", "exact: size (of allowed)",
             "epoch: half bands", "accuracy: points");
  for (const Finding& each : findings) {
    std::string by = each.exact_caught ? "exact" : "";
    if (each.losses_caught) by += by.empty() ? "epoch" : ", epoch";
    if (each.accuracy_caught) by += by.empty() ? "accuracy" : ", accuracy";
    fmt::print("{:<22} {:<22} {:>24} {:>18} {:>18}\n", each.who, by.empty() ? "nobody" : by,
               fmt::format("{:.2g} ({:.2g} times)", each.exact_size, each.exact_of_tolerance),
               fmt::format("{:.2f}", each.losses_size), fmt::format("{:+.2f}", -each.accuracy_size));
  }
  for (const Finding& each : findings)
    fmt::print("\n{}\n  exact: {}\n  epoch: {}\n  {}\n", each.who, each.exact, each.losses, each.accuracy);
}

void print_json(const std::vector<Finding>& findings) {
  auto document = nlohmann::json::array();
  for (const Finding& each : findings) {
    document.push_back(
        {{"trainer", each.who},
         {"planted", each.planted},
         {"exact",
          {{"caught", each.exact_caught},
           {"size", each.exact_size},
           {"times_tolerance", each.exact_of_tolerance},
           {"sentence", each.exact}}},
         {"losses", {{"caught", each.losses_caught}, {"half_bands", each.losses_size}, {"sentence", each.losses}}},
         {"accuracy",
          {{"caught", each.accuracy_caught}, {"lower_points", each.accuracy_size}, {"sentence", each.accuracy}}}});
  }
  fmt::print("{}\n", document.dump(1));
}

int accept(const Options& options) {
  const std::filesystem::path images = std::filesystem::path(options.data) / "train-images-idx3-ubyte";
  if (!std::filesystem::exists(images) && !std::filesystem::exists(images.string() + ".gz")) {
    fmt::print(stderr, "skipped: no MNIST in {}\n", options.data);
    return kSkipped;
  }
  const std::vector<Finding> findings = Acceptance(options).run();
  if (options.json)
    print_json(findings);
  else
    print_findings(findings);
  std::size_t wrong = 0, caught = 0, alarms = 0;
  for (const Finding& each : findings) {
    if (each.planted) ++wrong;
    if (each.caught()) ++(each.planted ? caught : alarms);
  }
  fmt::print(stderr, "wrong trainers caught: {} of {}; alarms of right ones: {} of {}\n", caught, wrong, alarms,
             findings.size() - wrong);
  return caught == wrong && alarms == 0 ? 0 : 1;
}

}  // namespace
}  // namespace nocturne::test

int main(int argc, char** argv) {
  try {
    return nocturne::test::accept(nocturne::test::parse_options(argc, argv));
  } catch (const std::logic_error& error) {
    std::fprintf(stderr, "nocturne-gate-acceptance: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nocturne-gate-acceptance: %s\n", error.what());
    return 1;
  }
}
