#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/installation/source_tree.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/preview/survey.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("what a campaign would install is added up, and measured against its limits", "[preview]") {
  const test::SourceTree tree;
  tree.add_recipe("large-1", R"("python": ">=3.6", "download_mb": 700, "disk_mb": 1200)");
  tree.add_recipe("small-1", R"("python": ">=3.6", "download_mb": 70, "disk_mb": 300)");
  const auto frameworks = tree.frameworks_with_python();
  const auto ahead = [&](const std::string& settings) {
    const auto spec = tuner::parse_campaign(
        R"({"campaign": "c", "environments": )" + settings + R"(, "space": {"parameters": [{"name": "framework",
            "stage": "environment", "values": ["onednn", "large-1", "ancient-0.1", "small-1"]}]}})",
        "c.json", "/", space::Facts(), &frameworks);
    REQUIRE(spec);
    return tuner::environments_ahead(*spec, frameworks);
  };
  const auto free = ahead("{}");
  CHECK(free.to_install == std::vector<std::string>{"large-1", "small-1"});  // what cannot be had is not counted
  CHECK(free.download_bytes == 770'000'000);
  CHECK(free.new_disk_bytes == 1'500'000'000);
  CHECK(free.seconds == Catch::Approx(125));
  CHECK(free.limit.empty());
  CHECK_THAT(ahead(R"({"download": "500MB"})").limit, ContainsSubstring("environments.download is 500 MB"));
  CHECK_THAT(ahead(R"({"disk": "1GB"})").limit, ContainsSubstring("environments.disk is 1000 MB"));
  CHECK_THAT(ahead(R"({"install": false})").limit, ContainsSubstring("environments.install is false"));
  CHECK(ahead(R"({"download": "1GB", "disk": "2GB"})").limit.empty());
  CHECK_FALSE(std::filesystem::exists(tree.environments()));  // looking makes nothing
}
