/// No page names, predicts or proposes what a constraint forbids on the machine that tuned. The constraints are judged
/// here by Expression::holds() alone, with the facts that are stored.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "space/expression/expression.hpp"
#include "space/random.hpp"
#include "space/space.hpp"
#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/installation/fake_pythons.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/cli.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A machine that no test runs on: what is read from this one instead gives other answers.
space::Facts random_facts(space::Random& random) {
  const auto some_of = [&random](const std::vector<std::string>& all) {
    std::vector<std::string> some{all.front()};
    for (std::size_t i = 1; i < all.size(); ++i)
      if (random.below(2) == 0) some.push_back(all[i]);
    return some;
  };
  space::Facts facts = sample_facts();
  const auto cores = static_cast<std::int64_t>(2 + random.below(6));
  facts.set("machine.cores", cores);
  facts.set("machine.threads", 2 * cores);
  facts.set("machine.isa", some_of({"avx2", "avx512f", "amx_bf16"}));
  facts.set("machine.compilers", some_of({"cc-of-this-test", "g++", "clang++-19", "icx"}));
  facts.set("machine.allocators", some_of({"glibc", "jemalloc", "tcmalloc", "mimalloc"}));
  return facts;
}

std::string random_campaign(space::Random& random, std::uint64_t seed) {
  const std::vector<std::pair<json, json>> pool = {
      // a parameter, and what the machine allows of it
      {{{"name", "compiler"}, {"stage", "build"}, {"values", {"cc-of-this-test", "g++", "clang++-19", "icx"}}},
       {{"require", "compiler in machine.compilers"}, {"because", "it is not installed"}}},
      {{{"name", "allocator"}, {"stage", "run"}, {"values", {"glibc", "jemalloc", "tcmalloc", "mimalloc"}}},
       {{"require", "allocator in machine.allocators"}, {"because", "it is not installed"}}},
      {{{"name", "isa_cap"},
        {"stage", "run"},
        {"values", {"none", "avx2", "avx512f", "amx_bf16"}},
        {"default", "none"}},
       {{"require", "isa_cap == 'none' or isa_cap in machine.isa"}, {"because", "the processor lacks it"}}},
      {{{"name", "streams"}, {"stage", "run"}, {"range", {1, 4}}, {"default", 1}},
       {{"require", "streams * threads <= machine.threads"}, {"because", "there are no more"}}},
      {{{"name", "huge"}, {"stage", "run"}, {"type", "boolean"}},
       {{"require", "not huge or threads < machine.cores"}, {"because", "one core is left"}}}};
  json parameters = {{{"name", "threads"}, {"stage", "run"}, {"range", {1, 12}}, {"default", 1}}};
  json constraints = {{{"require", "threads <= machine.cores"}, {"because", "there are no more"}}};
  for (const auto& [parameter, constraint] : pool) {
    if (random.below(4) == 0) continue;
    parameters.push_back(parameter);
    constraints.push_back(constraint);
  }
  return json({{"campaign", fmt::format("random-{}", seed)},
               {"workload", {{"network", "mnist_cnn"}, {"data", "mnist"}, {"optimizer", "adadelta"}}},
               {"objective", {{"minimise", "time"}, {"epochs", {1, 12}}}},
               {"space", {{"parameters", parameters}, {"constraints", constraints}}},
               {"worker", {{"command", {"/bin/true"}}}},
               {"strategy", {{"name", "auto"}, {"seed", 1 + random.below(1000)}}}})
      .dump();
}

/// The rules, on their own: neither a Space nor what reads it from the database has a say.
class Rules {
 public:
  explicit Rules(const tuner::CampaignSpec& spec) : space_(spec.space) {
    const space::Facts facts = tuner::stored_facts(spec.document);
    for (const json& each : spec.document.value("/space/constraints"_json_pointer, json::array())) {
      const auto require = each.at("require").get<std::string>();
      auto parsed = space::Expression::parse(require, space_.parameters(), facts);
      if (!parsed) FAIL(require + ": " + parsed.error().message);
      rules_.push_back(*std::move(parsed));
      over_machine_ += require.contains("machine.") ? 1 : 0;
    }
  }

  /// What it breaks; empty: nothing.
  [[nodiscard]] std::string broken(const space::Configuration& configuration) const {
    std::vector<space::Value> values;
    std::vector<bool> active;
    for (const auto& parameter : space_.parameters()) {
      const space::Value* value = configuration.find(parameter.name);
      active.push_back(value != nullptr);
      values.push_back(value != nullptr ? *value : parameter.value(0));
    }
    for (const auto& rule : rules_) {
      const bool applies = std::ranges::all_of(rule.mentions(), [&](std::size_t each) { return active[each]; });
      if (applies && !rule.holds(values).value_or(false)) return rule.text();
    }
    return "";
  }

  /// The rules over this parameter alone: a value that breaks one stands in no valid configuration.
  [[nodiscard]] std::string broken_alone(const std::string& parameter, const std::string& text) const {
    const auto& all = space_.parameters();
    const auto index =
        static_cast<std::size_t>(std::ranges::find(all, parameter, &space::Parameter::name) - all.begin());
    if (index == all.size()) return "no such parameter";
    std::vector<space::Value> values;
    for (const auto& each : all) values.push_back(each.value(0));
    for (std::uint64_t i = 0; i < all[index].size(); ++i) {
      values[index] = all[index].value(i);
      if (space::to_text(values[index]) != text) continue;
      for (const auto& rule : rules_)
        if (rule.mentions() == std::vector{index} && !rule.holds(values).value_or(false)) return rule.text();
    }
    return "";
  }

  /// `configuration` with that one value, which stands on a page as text.
  [[nodiscard]] space::Configuration changed(space::Configuration configuration, const std::string& name,
                                             const std::string& text) const {
    for (const auto& parameter : space_.parameters()) {
      if (parameter.name != name) continue;
      for (std::uint64_t i = 0; i < parameter.size(); ++i)
        if (space::to_text(parameter.value(i)) == text) configuration.set(name, parameter.value(i));
    }
    return configuration;
  }

  /// Whether it decides which others have a value.
  [[nodiscard]] bool decides_others(const std::string& name) const {
    return std::ranges::any_of(space_.parameters(),
                               [&](const space::Parameter& each) { return each.active_if.contains(name); });
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> result;
    for (const auto& parameter : space_.parameters())
      for (std::uint64_t i = 0; parameter.name == name && i < std::min<std::uint64_t>(parameter.size(), 1000); ++i)
        result.push_back(space::to_text(parameter.value(i)));
    return result;
  }

  [[nodiscard]] int over_machine() const { return over_machine_; }
  [[nodiscard]] const space::Space& space() const { return space_; }

 private:
  space::Space space_;
  std::vector<space::Expression> rules_;
  int over_machine_ = 0;
};

/// A campaign of a few simulated trials in a database of its own, and its pages.
class StoredCampaign {
 public:
  explicit StoredCampaign(tuner::CampaignSpec spec) {
    spec.budget = {};
    spec.budget.trials = 14;
    spec.verify.pairs = 2;
    spec.verify.accuracy_epochs = 0;
    SessionFixture<> session(folder_, "nocturne.db");
    session.executor.step_seconds = [](const space::Configuration& configuration) {
      double seconds = 0.05;
      for (const auto& [name, value] : configuration.values())
        seconds *= 1 + 0.1 * static_cast<double>(std::hash<std::string>()(name + space::to_text(value)) % 7);
      return seconds;
    };
    (void)session.with_session(spec, [](tuner::Session& open) { return tuner::Campaign(open, false).run(); });
  }

  /// What `nocturne WORDS… --json` says. Null: it refused.
  [[nodiscard]] json page(std::vector<std::string> words) const {
    words.emplace_back("--json");
    std::ostringstream out, err;
    cli::Context context;
    context.out = &out;
    context.err = &err;
    context.environment = {{"NOCTURNE_DATA", folder_.path.string()}};
    const cli::ExitCode code = cli::run_command_line(words, context);
    INFO(words.front() << ": " << err.str());
    CHECK(code != cli::ExitCode::Internal);
    json document = json::parse(out.str(), nullptr, false);
    return document.is_discarded() ? json() : document;
  }

  [[nodiscard]] std::string database() const { return (folder_.path / "nocturne.db").string(); }

 private:
  CampaignFolder folder_;
};

/// Every object under a key "configuration", wherever it stands.
void check_configurations(const json& document, const Rules& rules, int& seen) {
  if (!document.is_structured()) return;
  for (const auto& [key, value] : document.items()) {
    if (key == "configuration" && value.is_object()) {
      const auto found = space::Configuration::from_json(value);
      REQUIRE(found);
      INFO(found->canonical());
      CHECK(rules.broken(*found) == "");
      ++seen;
    }
    check_configurations(value, rules, seen);
  }
}

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Values of `best` and `explain`: the best configuration with another value, and with what the page says goes along,
/// is valid.
void check_matters(const json& page, const Rules& rules, int& seen) {
  if (!page.is_object() || !page.contains("matters") || page["matters"].is_null() || page["best"].is_null()) return;
  const auto best = space::Configuration::from_json(page["best"].at("configuration"));
  REQUIRE(best);
  for (const char* list : {"much", "hardly", "unsure"}) {
    for (const json& matter : page["matters"].at(list)) {
      const auto name = matter.at("parameter").get<std::string>();
      for (const json& other : matter.at("others")) {
        const auto text = value_text(other.at("value"));
        INFO("matters: " << name << "=" << text << " instead of that of " << best->canonical());
        CHECK(rules.broken_alone(name, text) == "");
        auto changed = rules.changed(*best, name, text);
        bool decides_others = rules.decides_others(name);  // which then begin or cease to be active, unnamed
        for (const json& along : other.at("along")) {
          changed = rules.changed(changed, along.at("parameter"), value_text(along.at("value")));
          decides_others = decides_others || rules.decides_others(along.at("parameter"));
          CHECK(rules.broken(rules.changed(*best, name, text)) != "");  // else nothing has to go with it
        }
        if (!decides_others) CHECK(rules.broken(changed) == "");
        ++seen;
      }
    }
  }
  for (const json& each : page["matters"].at("ruled_out"))
    CHECK(rules.broken_alone(each.at("parameter"), value_text(each.at("value"))) == "");
}

/// Effects and ruled out values of `model` and `explain`: some valid configuration has each.
void check_effects(const json& page, const Rules& rules, int& seen) {
  if (!page.is_object()) return;
  for (const json& effect : page.value("effects", json::array())) {
    for (const json& each : effect.at("values")) {
      const auto name = effect.at("parameter").get<std::string>();
      INFO("effect: " << name << "=" << each.at("value"));
      CHECK(rules.broken_alone(name, value_text(each.at("value"))) == "");
      ++seen;
    }
  }
  for (const json& each : page.value("pruned_levels", json::array()))
    CHECK(rules.broken_alone(each.at("parameter"), value_text(each.at("value"))) == "");
}

/// Words of a configuration that breaks a rule, one value away from the default; empty: there is none.
std::string forbidden_words(const Rules& rules) {
  const space::Configuration standard = rules.space().default_configuration();
  for (const auto& [name, value] : standard.values()) {
    for (const std::string& text : rules.texts(name))
      if (!rules.decides_others(name) && rules.broken(rules.changed(standard, name, text)) != "")
        return name + "=" + text;
  }
  return "";
}

struct Seen {
  int spaces = 0, over_machine = 0, configurations = 0, values = 0, refused = 0;
};

void check_pages(const tuner::CampaignSpec& spec, Seen& seen) {
  const Rules rules(spec);
  const StoredCampaign stored(spec);
  ++seen.spaces;
  seen.over_machine += rules.over_machine();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"best"},
                                             {"status"},
                                             {"explain"},
                                             {"explain", "0"},
                                             {"explain", "best"},
                                             {"model"},
                                             {"compare", "default", "best"},
                                             {"pareto"},
                                             {"list", "trials"},
                                             {"replay", stored.database(), "--strategy", "random"}}) {
    INFO("nocturne " << words.front());
    const json page = stored.page(words);
    check_configurations(page, rules, seen.configurations);
    check_matters(page, rules, seen.values);
    check_effects(page, rules, seen.values);
    if (words.front() == "model" && page.is_object()) CHECK(page.value("without", json::array()).empty());
  }
  if (const std::string words = forbidden_words(rules); !words.empty()) {
    INFO("explain " << words);
    const json page = stored.page({"explain", words});  // refused, or another value makes it valid
    check_configurations(page, rules, seen.configurations);
    seen.refused += page.is_null() ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("no page of a shipped campaign names what a constraint forbids where it was tuned",
          "[campaign][pages][thorough]") {
  const FakePythons pythons;
  const tuner::Frameworks frameworks({.source_root = NOCTURNE_SOURCE_DIR,
                                      .environments = pythons.environments(),
                                      .pythons = [places = pythons.places()] { return places; }});
  Seen seen;
  for (const auto& entry : fs::directory_iterator(fs::path(NOCTURNE_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".json") continue;
    const auto spec = tuner::load_campaign(entry.path(), sample_facts(), &frameworks);
    if (!spec) continue;  // for GPUs; examples_test.cpp says which may
    CAPTURE(entry.path());
    check_pages(*spec, seen);
  }
  CHECK(seen.spaces >= 6);
  CHECK(seen.configurations > 100);
}

// NOCTURNE_TEST_SPACES: how many; 200 at length.
TEST_CASE("no page of a random campaign names what a constraint forbids where it was tuned", "[campaign][pages]") {
  const char* wanted = std::getenv("NOCTURNE_TEST_SPACES");
  const std::uint64_t count = wanted != nullptr ? std::stoull(wanted) : 4;
  Seen seen;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    space::Random random(seed);
    const space::Facts facts = random_facts(random);
    const auto spec = tuner::parse_campaign(random_campaign(random, seed), "random.json", "/", facts);
    if (!spec) FAIL(tuner::to_text(spec.error()));
    check_pages(*spec, seen);
  }
  CHECK(seen.over_machine >= static_cast<int>(2 * count));
  CHECK(seen.values >= static_cast<int>(5 * count));
  CHECK(seen.refused >= static_cast<int>(count / 2));
}

}  // namespace nocturne::test
