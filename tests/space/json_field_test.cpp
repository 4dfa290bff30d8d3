#include "space/json_field.hpp"

#include <cstdint>

#include <catch2/catch_test_macros.hpp>

namespace nocturne::space {

TEST_CASE("a field of another type, or none, leaves what was there", "[json]") {
  const nlohmann::json document = {{"text", "a"}, {"number", 7}, {"share", 0.5}, {"flag", true}, {"none", nullptr}};
  std::string text = "before";
  std::int64_t number = -1;
  double share = -1;
  bool flag = false;
  std::optional<std::int64_t> maybe;
  for (const char* other : {"number", "share", "flag", "none", "absent"}) take_field(document, other, text);
  for (const char* other : {"text", "share", "flag", "none", "absent"}) take_field(document, other, number);
  for (const char* other : {"text", "flag", "none", "absent"}) take_field(document, other, share);
  for (const char* other : {"text", "number", "share", "none", "absent"}) take_field(document, other, flag);
  for (const char* other : {"text", "share", "flag", "none", "absent"}) take_field(document, other, maybe);
  CHECK(text == "before");
  CHECK(number == -1);
  CHECK(share == -1);
  CHECK_FALSE(flag);
  CHECK_FALSE(maybe);

  take_field(document, "text", text);
  take_field(document, "number", number);
  take_field(document, "number", maybe);
  take_field(document, "flag", flag);
  take_field(document, "number", share);  // a whole number is a number
  CHECK(text == "a");
  CHECK(number == 7);
  CHECK(maybe == 7);
  CHECK(flag);
  CHECK(share == 7);
  take_field(nlohmann::json::array({1}), "number", number);
  CHECK(number == 7);
}

}  // namespace nocturne::space
