#include "tuner/deploy/shell_quote.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"

using namespace nocturne;

TEST_CASE("a quoted word comes out of a shell as it went in", "[deploy]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path marker = folder.path() / "marker";
  std::vector<std::string> words = {"",    "plain", "two words", "it's", "''", "a=b", "$HOME", "`id`", "$(id)",
                                    "a\\", "\n",    "-n",        "*",    "~",  "!x",  "#",     ";",    "&&",
                                    "\t",  "\x01",  "\xC3\xA9",  "\xFF", "%s", "[a]", "{a,b}", "a|b",  "<x>"};
  words.push_back(test::hostile(marker.string()));
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(test::shell("printf %s " + deploy::shell_quote(word) + "; printf .").output == word + ".");
  }
  CHECK_FALSE(std::filesystem::exists(marker));
}

TEST_CASE("what needs no quotes gets none", "[deploy]") {
  CHECK(deploy::shell_quote("/usr/bin/g++-12") == "/usr/bin/g++-12");
  // An equals sign in the first word of a command would make it an assignment.
  CHECK(deploy::shell_quote("A=b") == "'A=b'");
  CHECK(deploy::shell_command(std::array<std::string, 3>{"A=b", "c d", "e"}) == "'A=b' 'c d' e");
}

TEST_CASE("an equals sign in an argument needs no quotes, but at its beginning", "[deploy]") {
  const std::array<std::string, 5> words = {"python3", "--delay=2", "A=b", "=c", "--text=two words"};
  CHECK(deploy::shell_command(words) == "python3 --delay=2 A=b '=c' '--text=two words'");
}

TEST_CASE("the words of a command reach it as they are", "[deploy]") {
  std::vector<std::string> words = {"printf", "[%s]"};
  const std::vector<std::string> arguments = {"A=b",     "--delay=2", "=ls",        "a:b=~",  "~=x",      "=",
                                              "x=$HOME", "x={1,2}",   "+a,b@c%d=e", "x=`id`", "--p=a b*", ""};
  std::string expected;
  for (const std::string& argument : arguments) {
    words.push_back(argument);
    expected += "[" + argument + "]";
  }
  CHECK(test::shell(deploy::shell_command(words)).output == expected);
}

TEST_CASE("a comment stays on its line", "[deploy]") {
  CHECK(deploy::comment_text("a\nrm -rf x\r\n") == "a?rm -rf x??");
}

TEST_CASE("names of variables are those a shell can assign to", "[deploy]") {
  CHECK(deploy::is_variable_name("OMP_NUM_THREADS"));
  CHECK(deploy::is_variable_name("_x9"));
  for (const char* name : {"", "9x", "a-b", "a b", "a;b", "a=b", "\xC3\xA9"}) {
    CAPTURE(name);
    CHECK_FALSE(deploy::is_variable_name(name));
  }
  CHECK(deploy::variable_part("env.MY-var 2") == "ENV_MY_VAR_2");
}
