#include "tuner/cli/output/format.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <sstream>
#include <vector>

#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"

using namespace nocturne::cli;

namespace {

std::string printed(const Table& table, std::size_t width, bool colour = false) {
  std::ostringstream out;
  Context context;
  context.out = &out;
  context.out_is_terminal = colour;
  context.columns = width;
  table.print(context);
  return out.str();
}

}  // namespace

TEST_CASE("times are shown with three digits and a unit that fits", "[cli]") {
  CHECK(seconds_text(0) == "0 s");
  CHECK(seconds_text(12e-9) == "12.0 ns");
  CHECK(seconds_text(0.00085) == "850 µs");
  CHECK(seconds_text(0.0471) == "47.1 ms");
  CHECK(seconds_text(0.9996) == "1.00 s");
  CHECK(seconds_text(12.34) == "12.3 s");
  CHECK(seconds_text(125) == "2 min 05 s");
  CHECK(seconds_text(5400) == "1 h 30 min");
  CHECK(seconds_text(-0.0471) == "-47.1 ms");
  CHECK(seconds_text(std::numeric_limits<double>::quiet_NaN()) == "unknown");
  CHECK(seconds_with_error(12.345, 0.052) == "12.345 ± 0.052 s");
  CHECK(seconds_with_error(150.5, 12) == "150 ± 12 s");
  CHECK(seconds_with_error(0.0471, 0.0005) == "47.10 ± 0.50 ms");
  CHECK(seconds_with_error(1, 0) == "1.00 s");
}

TEST_CASE("sizes, shares and moments", "[cli]") {
  CHECK(bytes_text(700) == "700 B");
  CHECK(bytes_text(1536LL << 20) == "1.5 GiB");
  CHECK(percent_text(0.2414) == "24.1 %");
  CHECK(utc_text(1'717'182'192'000'000'000) == "2024-05-31T19:03:12Z");
}

TEST_CASE("a sparkline runs from the lowest to the highest value", "[cli]") {
  CHECK(sparkline(std::vector{1.0, 2.0, 3.0}, 10) == "▁▄█");
  CHECK(sparkline(std::vector{5.0, 5.0}, 10) == "▁▁");
  CHECK(sparkline(std::vector{1.0, 1.0, 3.0, 3.0}, 2) == "▁█");
  CHECK(sparkline(std::vector{1.0, std::numeric_limits<double>::quiet_NaN(), 2.0}, 3) == "▁ █");
  CHECK(sparkline({}, 10).empty());
}

TEST_CASE("text from elsewhere cannot steer the terminal", "[cli]") {
  CHECK(printable("a\x1b[31mb\x7f\tc\n") == "a\\x1B[31mb\\x7F\tc\n");
  CHECK(printable("\xC2\x9B"
                  "31m é") == "\\x9B31m é");
  CHECK(one_line("a\nb\tc\n") == "a b c");
}

TEST_CASE("width counts characters, not bytes", "[cli]") {
  CHECK(display_width("µs ±") == 4);
  CHECK(shortened("ééééé", 3) == "éé…");
  CHECK(shortened("abc", 3) == "abc");
}

TEST_CASE("a table lines its columns up", "[cli]") {
  Table table({{"name"}, {"time", Align::Right}, {"note"}});
  table.add({Cell("é"), Cell("5 µs"), Cell("first\nline")});
  table.add({Cell("longer"), Cell("100 s", Style::Good), Cell("a rather long note")});
  CHECK(printed(table, 25) ==
        "name     time  note\n"
        "é        5 µs  first line\n"
        "longer  100 s  a rather\n"
        "               long note\n");
  Table ended({{"name"}, {"time", Align::Right}, {""}});
  ended.add({Cell("a"), Cell("1 s"), Cell("")});
  ended.add({Cell("b"), Cell(""), Cell("")});
  CHECK(printed(ended, 0) == "name  time\na      1 s\nb\n");
  CHECK(printed(table, 0, true).find("\x1b[32m100 s\x1b[0m") != std::string::npos);
  CHECK_THROWS(table.add({Cell("too few")}));
}

TEST_CASE("sentences in a table become several lines where a terminal is too narrow", "[cli]") {
  CHECK(wrapped("one of a, b", 6) == std::vector<std::string>{"one of", "a, b"});
  CHECK(wrapped("unbreakable word", 4) == std::vector<std::string>{"unbr", "eaka", "ble", "word"});
  CHECK(wrapped("a,bb,ccc,dddd", 6) == std::vector<std::string>{"a,bb,", "ccc,", "dddd"});
  CHECK(wrapped("deployments-emerald-rapids", 16) == std::vector<std::string>{"deployments-", "emerald-rapids"});
  CHECK(wrapped("", 4) == std::vector<std::string>{""});
  Table table({{"name"}, {"domain", Align::Left, Fit::Wraps}, {"default"}, {"why", Align::Left, Fit::Wraps}});
  table.add({Cell("a"), Cell("one of glibc, jemalloc, tcmalloc"), Cell("glibc"), Cell("it serves malloc here")});
  table.add({Cell("b"), Cell("true"), Cell("yes"), Cell("")});
  CHECK(printed(table, 49) ==
        "name  domain            default  why\n"
        "a     one of glibc,     glibc    it serves malloc\n"
        "      jemalloc,                  here\n"
        "      tcmalloc\n"
        "b     true              yes\n");
  CHECK(printed(table, 0).starts_with("name  domain                            default  why\na     one of glibc, "));
}

TEST_CASE("a table that is still too wide breaks its headers, then any cell, then words", "[cli]") {
  Table headers({{"a"}, {"times as long", Align::Right}, {"b"}});
  headers.add({Cell("x"), Cell("1.25"), Cell("y")});
  CHECK(printed(headers, 14) ==
        "a  times as  b\n"
        "       long\n"
        "x      1.25  y\n");
  Table cells({{"what"}, {"where"}});
  cells.add({Cell("four words in all"), Cell("a,very,long,list,of,names")});
  for (const std::size_t width : {40UL, 30UL, 20UL}) {
    std::istringstream lines(printed(cells, width));
    for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= width);
  }
}

TEST_CASE("a stored domain is shown as the user would say it", "[cli]") {
  using nlohmann::json;
  CHECK(domain_text(json::parse(R"({"type":"categorical","values":["g++","clang++"]})")) == "one of g++, clang++");
  CHECK(domain_text(json::parse(R"({"values":[128]})")) == "only 128");
  CHECK(domain_text(json::parse(R"({"range":[2,8],"step":2,"type":"integer"})")) == "2 to 8 in steps of 2");
  CHECK(domain_text(json::parse(R"({"range":[0.5,1]})")) == "0.5 to 1");
  CHECK(domain_text(json::parse(R"({"else":1})")) == R"({"else":1})");
}

TEST_CASE("samples are summarised by quantiles", "[cli]") {
  const SampleSummary summary = summarise_samples({5, 1, 2, 4, 3});
  CHECK(summary.median == 3);
  CHECK(summary.minimum == 1);
  CHECK(summary.maximum == 5);
  CHECK(summary.spread == 2);
  CHECK(summarise_samples({1, 2}).median == 1.5);
}
