#include "tuner/campaign_file/quantity.hpp"

#include <cstdlib>
#include <ctime>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace nocturne::tuner;
using namespace std::chrono_literals;

TEST_CASE("durations are read as people write them", "[campaign_file]") {
  CHECK(parse_duration("90s") == 90s);
  CHECK(parse_duration("5min") == 5min);
  CHECK(parse_duration("1h30min") == 90min);
  CHECK(parse_duration("1h 30min") == 90min);
  CHECK(parse_duration("2.5h") == 150min);
  CHECK(parse_duration("1d") == 24h);
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("5 min") == 5min);
  CHECK(parse_duration("1h30m") == 90min);
}

TEST_CASE("what is no duration is refused with an example", "[campaign_file]") {
  const char* text = GENERATE("", "5", "min", "5 minutes", "30min1h", "5min5min", "5min5m", "5M", "-5min", "0s", "1e3s",
                              "5.min", ".5h", "9999999999d", "99999999999999999999999999999999h", "5min ", "\xff");
  CAPTURE(text);
  const auto parsed = parse_duration(text);
  if (std::string_view(text) == "5min ") {
    CHECK(parsed == 5min);  // a space at the end does no harm
  } else {
    REQUIRE(!parsed);
    CHECK(parsed.error().find("1h30min") != std::string::npos);
  }
}

TEST_CASE("a duration's text is read back as the same duration", "[campaign_file]") {
  const auto duration = GENERATE(std::chrono::nanoseconds(1s), 90s, 5min, 90min, 25h, 1500ms, 86400s, 1h + 1ms);
  CHECK(parse_duration(duration_text(duration)) == duration);
  CHECK(duration_text(90min) == "1h30min");
  CHECK(duration_text(std::chrono::nanoseconds(0)) == "0s");
}

TEST_CASE("sizes are read with powers of 1000 and of 1024", "[campaign_file]") {
  CHECK(parse_size("8GiB") == std::int64_t{8} << 30);
  CHECK(parse_size("8GB") == 8'000'000'000);
  CHECK(parse_size("1.5MiB") == 3 << 19);
  CHECK(parse_size("700B") == 700);
  CHECK(parse_size("700") == 700);
  CHECK(parse_size("512 MiB") == 512 << 20);
  for (const char* wrong : {"", "GiB", "8gib", "8 G", "-1GiB", "0B", "99999999999TiB", "8GiB!"}) {
    CAPTURE(wrong);
    CHECK(!parse_size(wrong));
  }
}

TEST_CASE("times of day are hours and minutes", "[campaign_file]") {
  CHECK(parse_time_of_day("07:00") == TimeOfDay{7, 0});
  CHECK(parse_time_of_day("7:05") == TimeOfDay{7, 5});
  CHECK(parse_time_of_day("23:59") == TimeOfDay{23, 59});
  for (const char* wrong : {"", "24:00", "7", "7:5", "07:60", "7:00 am", ":00", "007:00", "a7:00"}) {
    CAPTURE(wrong);
    CHECK(!parse_time_of_day(wrong));
  }
}

TEST_CASE("the next occurrence of a time of day is today or tomorrow, never now", "[campaign_file]") {
  std::tm local{};
  local.tm_year = 2024 - 1900;
  local.tm_mon = 1;
  local.tm_mday = 28;  // the day before the leap day
  local.tm_hour = 22;
  local.tm_isdst = -1;
  const auto evening = std::chrono::system_clock::from_time_t(std::mktime(&local));
  CHECK(next_occurrence({22, 30}, evening) == evening + 30min);
  CHECK(next_occurrence({7, 0}, evening) == evening + 9h);
  CHECK(next_occurrence({22, 0}, evening) == evening + 24h);
}
