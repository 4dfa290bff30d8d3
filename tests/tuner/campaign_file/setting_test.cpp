#include "tuner/campaign_file/setting.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace nocturne;
using tuner::read_setting;

TEST_CASE("a setting's value is JSON where it can be, else a text; all behind the first '=' belongs to it",
          "[campaign_file]") {
  CHECK(read_setting("/a=3")->value == 3);
  CHECK(read_setting("/a=[1,2]")->value == nlohmann::json::array({1, 2}));
  CHECK(read_setting("/a=1h")->value == "1h");
  CHECK(read_setting("/a=\"3\"")->value == "3");
  CHECK(read_setting("/a=x=y")->value == "x=y");
  CHECK(read_setting("/a=")->value == "");
  CHECK(read_setting("/a=null")->value.is_null());
  CHECK_FALSE(read_setting("/a"));
  CHECK_FALSE(read_setting("a=1"));
  CHECK_FALSE(read_setting("/a~=1"));
}

TEST_CASE("a setting makes the objects on its way, and its problems are its own", "[campaign_file]") {
  tuner::Document document{.value = {{"list", {{{"name", "b"}, {"x", 1}}}}}, .places = {}};
  REQUIRE(tuner::apply_setting(*read_setting("/new/deep=5"), document));
  CHECK(document.value.at("new").at("deep") == 5);
  CHECK(document.place("/new/deep").file == "--set");
  REQUIRE(tuner::apply_setting(*read_setting("/list/b/x=2"), document));
  REQUIRE(tuner::apply_setting(*read_setting("/list/0/y=3"), document));
  CHECK(document.value.at("list").at(0) == nlohmann::json{{"name", "b"}, {"x", 2}, {"y", 3}});
  REQUIRE(tuner::apply_setting(*read_setting("/new=null"), document));
  CHECK_FALSE(document.value.contains("new"));
  CHECK_FALSE(tuner::apply_setting(*read_setting("/list/c/x=2"), document));
}
