// Every page and every help, on a narrow terminal and on a wide one.

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/cli.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/roofline/machine_figures.hpp"

namespace nocturne::test {
namespace {

// As many parameters with as long names as a real campaign has.
constexpr std::string_view kCampaign = R"({
  "campaign": "an-evening-with-a-long-name", "description": "which configuration trains the network fastest here?",
  "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12, 90], "primary": 12},
  "space": {"parameters": [
    {"name": "framework", "stage": "environment", "values": ["onednn", "mxnet-1.9.1", "pytorch"], "default": "onednn",
     "description": "who trains: our own worker on oneDNN, or a framework in an environment of its own"},
    {"name": "compiler", "stage": "build", "values": ["g++", "clang++-19"], "default": "g++"},
    {"name": "optimisation", "stage": "build", "values": ["O2", "O3"], "default": "O3"},
    {"name": "march", "stage": "build", "values": ["x86-64", "native"], "default": "x86-64"},
    {"name": "fast_math", "stage": "build", "type": "boolean", "active_if": "framework == 'onednn'"},
    {"name": "graph_compiler", "stage": "compile", "values": ["none", "static"], "default": "none"},
    {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
    {"name": "threads", "stage": "run", "range": [1, 16], "default": 4, "unit": "threads"},
    {"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
    {"name": "layout", "stage": "run", "values": ["blocked", "plain"], "default": "blocked"},
    {"name": "isa_cap", "stage": "run", "values": ["none", "avx512_core", "avx2"], "default": "none"},
    {"name": "affinity", "stage": "run", "values": ["none", "close", "spread"], "default": "none"},
    {"name": "wait_policy", "stage": "run", "values": ["default", "active", "passive"], "default": "default"},
    {"name": "huge_pages", "stage": "run", "type": "boolean"},
    {"name": "allocator", "stage": "run", "values": ["glibc", "glibc-large", "jemalloc", "tcmalloc"],
     "default": "glibc"}],
   "constraints": [{"require": "threads != 13", "because": "thirteen threads are more than the network's layers can use"}]},
  "worker": {"command": ["/bin/true", "--quiet", "--data", "/srv/data/mnist", "--threads", "{threads}"]},
  "strategy": {"name": "auto", "seed": 3},
  "budget": {"trials": 30},
  "verify": {"pairs": 2, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}
})";

double step_seconds(const space::Configuration& configuration) {
  const auto is = [&](const char* name, const char* value) {
    return *configuration.find(name) == space::Value(std::string(value));
  };
  const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
  return (is("precision", "bf16") ? 0.04 : 0.08) * (is("framework", "onednn") ? 1 : 2) *
         (is("isa_cap", "avx2") ? 1.5 : 1) * (0.1 + 1 / threads);
}

/// A campaign of thirty trials, some of which fail with much to say.
class Evening {
 public:
  Evening() {
    auto spec = tuner::parse_campaign(std::string(kCampaign), "evening.json", "/", space::Facts());
    if (!spec) FAIL(tuner::to_text(spec.error()));
    SessionFixture<> cli(folder_, "nocturne.db");
    cli.fingerprint = measure::fingerprint_of(measure::probe_machine(tuner::find_installation().machine_roots()));
    know_machine(cli.fingerprint);
    FakeExecutor& executor = cli.executor;
    executor.step_seconds = step_seconds;
    executor.can_be_built = [](const space::Configuration& configuration) {
      return *configuration.find("framework") != space::Value(std::string("pytorch"));
    };
    executor.failure_reason =
        "the environment of pytorch cannot be made: pip ended with 1: No matching distribution "
        "found for torch==2.9.1 (from versions: none)";
    executor.peak_bytes = [](const space::Configuration&) { return std::int64_t{300} << 20; };
    (void)cli.with_session(*spec, [](tuner::Session& session) { return tuner::Campaign(session, false).run(); });
  }

  /// What `nocturne WORDS…` prints on a page of that width.
  /// DATABASE stands for the path of its database.
  [[nodiscard]] std::string page(std::vector<std::string> words, std::size_t columns) const {
    std::ranges::replace(words, "DATABASE", (folder_.path / "nocturne.db").string());
    std::ostringstream out, err;
    cli::Context context;
    context.out = &out;
    context.err = &err;
    context.columns = columns;
    context.environment = {{"NOCTURNE_DATA", folder_.path.string()}};
    const cli::ExitCode code = cli::run_command_line(words, context);
    INFO(err.str());
    CHECK((code != cli::ExitCode::Usage && code != cli::ExitCode::Internal));
    return out.str();
  }

 private:
  /// As `machine --measure` would.
  void know_machine(const space::Fingerprint& machine) {
    auto store = db::Store::open(folder_.path / "nocturne.db", db::Mode::ReadWrite);
    store.save_machine_figures(
        {.key = tuner::figures_key(machine), .fields = tuner::figure_fields(machine), .figures = sample_figures()});
    store.save_network("mnist_cnn", sample_network());
  }

  CampaignFolder folder_;
};

/// The lines that are wider than the page, but for a single word, which nothing may break: a command is pasted as it
/// is, continued by a backslash.
std::string overflowing(const std::string& page, std::size_t columns) {
  std::istringstream lines(page);
  std::string wide;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view continued = line.ends_with(" \\") ? std::string_view(line).substr(0, line.size() - 2) : line;
    const std::size_t begin = continued.find_first_not_of(' ');
    const bool one_word = begin != std::string::npos && !continued.substr(begin).contains(' ');
    if (cli::display_width(line) > columns && !one_word) wide += line + "\n";
  }
  return wide;
}

const std::vector<std::vector<std::string>> kPages = {
    {"--version"},
    {"doctor"},
    {"env", "list"},
    {"space", std::string(NOCTURNE_SOURCE_DIR) + "/examples/mnist.json"},
    {"status"},
    {"best"},
    {"best", "--epochs", "90"},
    {"best", "--by", "framework"},
    {"best", "--by", "allocator"},
    {"pareto"},
    {"list", "campaigns"},
    {"list", "trials"},
    {"list", "comparisons"},
    {"list", "parameters"},
    {"list", "events"},
    {"list", "builds"},
    {"list", "strategies"},
    {"list", "workers"},
    {"list", "exporters"},
    {"show", "0"},
    {"show", "0", "--runs"},
    {"show", "7", "--log"},
    {"compare", "0", "1", "2"},
    {"model"},
    {"explain"},
    {"explain", "3"},
    {"explain", "framework=mxnet-1.9.1,threads=8,batch=64"},
    {"report", "paper"},
    {"machine"},
    {"roofline"},
    {"roofline", "--trial", "0"},
    {"replay", "DATABASE"},
    {"replay", "DATABASE", "--strategy", "random,auto", "--repeats", "2"},
    {"clean"},
};

}  // namespace

TEST_CASE("no page is wider than its terminal", "[cli][pages]") {
  const Evening evening;
  for (const std::size_t columns : {80UL, 120UL}) {
    for (const auto& words : kPages) {
      std::string name;
      for (const std::string& word : words) name += word + " ";
      const std::string page = evening.page(words, columns);
      CAPTURE(name, columns);
      CHECK_FALSE(page.empty());
      CHECK(overflowing(page, columns) == "");
    }
  }
}

TEST_CASE("no help is wider than its terminal", "[cli][pages]") {
  const Evening evening;
  std::vector<std::vector<std::string>> helps = {{"--help"}};
  for (const cli::Subcommand& subcommand : cli::subcommands())
    helps.push_back({std::string(subcommand.name), "--help"});
  for (const std::size_t columns : {80UL, 120UL}) {
    for (const auto& words : helps) {
      const std::string page = evening.page(words, columns);
      CAPTURE(words.front(), columns);
      CHECK(page.contains("Usage:"));
      CHECK(overflowing(page, columns) == "");
    }
  }
}

TEST_CASE("a page says once of which horizon it speaks, and of which confidence its intervals are", "[cli][pages]") {
  const Evening evening;
  const auto times_said = [](const std::string& page, std::string_view words) {
    int count = 0;
    for (auto at = page.find(words); at != std::string::npos; at = page.find(words, at + 1)) ++count;
    return count;
  };
  for (const auto& [subcommand, confidence] : {std::pair{"best", "95 % interval"},
                                               {"status", "95 % interval"},
                                               {"explain", "95 % interval"},
                                               {"model", "90 % interval"}}) {
    const std::string page = evening.page({subcommand}, 120);
    CAPTURE(subcommand, page);
    CHECK(times_said(page, "12 epochs") == 1);
    CHECK(times_said(page, "% interval") == 1);
    CHECK(times_said(page, confidence) == 1);
  }
}

TEST_CASE("a table of trials says what each has and the default has not", "[cli][pages]") {
  const Evening evening;
  const std::string page = evening.page({"list", "trials"}, 120);
  std::istringstream lines(page);
  std::string header, first;
  std::getline(lines, header);
  std::getline(lines, first);
  CHECK(first.ends_with("  default"));
  CHECK(!page.contains("compiler=g++ "));  // what the default has
}

}  // namespace nocturne::test
