#include "tuner/campaign/kept/kept_document.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/large_campaign.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tuner/campaign/kept/expectations_members.hpp"
#include "tuner/cli/cli.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;

/// A database with a campaign, and whoever asks about it.
struct CliFixture {
  explicit CliFixture(std::size_t trials) {
    auto store = db::Store::open(file(), db::Mode::ReadWrite);
    campaign = test::fill(store, {.trials = trials, .samples = 2});
  }
  [[nodiscard]] fs::path file() const { return folder.path() / "night.db"; }
  [[nodiscard]] db::Store open(db::Mode mode) const { return db::Store::open(file(), mode); }
  /// The document that `nocturne WORDS --json` prints, of this file or of another one.
  static nlohmann::json ask(const fs::path& database, std::vector<std::string> words) {
    std::ostringstream out, err;
    cli::Context context;
    context.out = &out;
    context.err = &err;
    words.insert(words.end(), {"--json", "--db", database.string()});
    CHECK(cli::run_command_line(words, context) == cli::ExitCode::Ok);
    INFO(err.str());
    return nlohmann::json::parse(out.str());
  }
  /// What is said where nothing was kept.
  [[nodiscard]] nlohmann::json ask_anew(const std::vector<std::string>& words) const {
    const test::TemporaryFolder apart;
    const fs::path copy = apart.path() / "copy.db";
    fs::copy_file(file(), copy);
    for (const char* part : {"-wal", "-shm"})
      if (fs::exists(file().string() + part)) fs::copy_file(file().string() + part, copy.string() + part);
    return ask(copy, words);
  }

  test::TemporaryFolder folder;
  db::CampaignSummary campaign;
};

/// Another judgement of the fastest trial: three times as slow.
void judge_again(const CliFixture& cli) {
  auto store = cli.open(db::Mode::ReadWrite);
  (void)store.begin_or_resume_campaign(
      {.name = cli.campaign.name,
       .identity = cli.campaign.identity,
       .spec = cli.campaign.spec,
       .strategy = cli.campaign.strategy,
       .seed = cli.campaign.seed,
       .fingerprint = {.hash = cli.campaign.fingerprint, .fields = nlohmann::json::array()},
       .parameters = store.parameters(cli.campaign.id)});
  const auto best = store.best(cli.campaign.id).value();
  db::TrialResult result{.outcome = best.trial.outcome, .estimate = best.trial.estimate, .parts = best.trial.parts};
  result.parts->steady_step *= 3;
  result.estimate->value *= 3;
  store.update_trial(best.id, result);
}

}  // namespace

TEST_CASE("a document is kept for the same question about the same campaign, and for no other", "[kept]") {
  const CliFixture cli(8);
  const auto store = cli.open(db::Mode::ReadOnly);
  const tuner::KeptDocument kept(store, cli.campaign, "subject", "question");
  CHECK_FALSE(kept.read());
  kept.write({1, 2.5, "three"});
  REQUIRE(kept.read());
  CHECK(*kept.read() == nlohmann::json({1, 2.5, "three"}));
  CHECK_FALSE(tuner::KeptDocument(store, cli.campaign, "subject", "another").read());
  CHECK_FALSE(tuner::KeptDocument(store, cli.campaign, "object", "question").read());
  auto edited = cli.campaign;
  edited.spec["budget"] = {{"wall", "1h"}};
  CHECK_FALSE(tuner::KeptDocument(store, edited, "subject", "question").read());

  const fs::path file = tuner::kept_file(cli.file(), "subject", cli.campaign.id);
  CHECK(fs::exists(file));
  for (const std::string& torn : {std::string("{\"basis\": \"0\", \"docu"), std::string(5 << 20, '['), std::string()}) {
    std::ofstream(file) << torn;
    CHECK_FALSE(kept.read());
  }
  kept.write("whole again");
  REQUIRE(kept.read());
  CHECK(*kept.read() == nlohmann::json("whole again"));
}

TEST_CASE("nothing is kept that was worked out while the database changed", "[kept]") {
  const CliFixture cli(8);
  const auto store = cli.open(db::Mode::ReadOnly);
  const tuner::KeptDocument kept(store, cli.campaign, "subject", "");
  judge_again(cli);
  kept.write("of which state?");
  CHECK_FALSE(fs::exists(tuner::kept_file(cli.file(), "subject", cli.campaign.id)));
}

TEST_CASE("numbers are kept to the last bit, and what is empty stays empty", "[kept]") {
  const tuner::Matters matters{.much = {{.parameter = "threads",
                                         .value = "4",
                                         .others = {{.value = "8",
                                                     .change = {.parameter = 3,
                                                                .level = 7,
                                                                .trials = 2,
                                                                .mean = 0.1 + 0.2,
                                                                .interval = {-1.0 / 3, 1e-300}},
                                                     .measured = std::nullopt},
                                                    {.value = "1", .change = {}, .measured = -0.0}}}},
                               .ruled_out = {{.parameter = "a", .value = "b"}},
                               .ruled_out_share = 2.0 / 3};
  const auto text = tuner::KeptForm<tuner::Matters>::to(matters).dump();
  const auto back = tuner::KeptForm<tuner::Matters>::from(nlohmann::json::parse(text));
  CHECK(tuner::KeptForm<tuner::Matters>::to(back).dump() == text);
  const auto& change = back.much.at(0).others.at(0).change;
  CHECK(change.mean == 0.1 + 0.2);
  CHECK(change.interval.lower == -1.0 / 3);
  CHECK(change.interval.upper == 1e-300);
  CHECK(change.level == 7);
  CHECK_FALSE(back.much[0].others[0].measured);
  CHECK(back.much[0].others[1].measured == 0.0);
  CHECK(back.hardly.empty());
  CHECK(back.ruled_out_share == 2.0 / 3);
}

TEST_CASE("best and model say the same from what was kept, and never what was true before", "[kept]") {
  const CliFixture cli(60);
  for (const std::string subcommand : {"best", "model"}) {
    CAPTURE(subcommand);
    const auto first = CliFixture::ask(cli.file(), {subcommand});
    const fs::path file =
        tuner::kept_file(cli.file(), subcommand == "best" ? "expectations" : "model", cli.campaign.id);
    REQUIRE(fs::exists(file));
    CHECK(CliFixture::ask(cli.file(), {subcommand}) == first);
    CHECK(first == cli.ask_anew({subcommand}));
  }
  const auto before = CliFixture::ask(cli.file(), {"model"});
  judge_again(cli);
  for (const std::string subcommand : {"best", "model"}) {
    CAPTURE(subcommand);
    CHECK(CliFixture::ask(cli.file(), {subcommand}) == cli.ask_anew({subcommand}));
  }
  CHECK(CliFixture::ask(cli.file(), {"model"}) != before);
}

}  // namespace nocturne::test
