#include "tuner/cli/output/layout.hpp"

#include <filesystem>
#include <sstream>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/installation/invocation.hpp"

using namespace nocturne;
using namespace nocturne::cli;

TEST_CASE("a page is as wide as COLUMNS says, else as the terminal, else 80, within what can be read", "[cli]") {
  CHECK(page_columns("100", 200) == 100);
  CHECK(page_columns("", 90) == 90);
  CHECK(page_columns("wide", 90) == 90);
  CHECK(page_columns("0", 0) == 80);
  CHECK(page_columns("", 0) == 80);
  CHECK(page_columns("500", 0) == 500);
  CHECK(page_columns("", 500) == 120);
  CHECK(page_columns("", 10) == 40);
}

TEST_CASE("a line that is too wide goes on below its text, behind its label", "[cli]") {
  CHECK(laid_out("Gain      one two three\nnext\n", 20) == "Gain      one two\n          three\nnext\n");
  CHECK(laid_out("  a sentence of five words", 14) == "  a sentence\n  of five\n  words");
  CHECK(laid_out("no label at all", 8) == "no label\nat all");
  CHECK(laid_out("    | a line of a log", 16) == "    | a line of\n    | a log");
  CHECK(laid_out("é è ê ë", 7) == "é è ê ë");
  CHECK(laid_out("\x1b[32mone two\x1b[0m", 7) == "\x1b[32mone two\x1b[0m");
  CHECK(laid_out("any width will do", 0) == "any width will do");
}

TEST_CASE("what cannot be broken stays whole: a path, a command in quotes", "[cli]") {
  CHECK(laid_out("see /a/long/path/to/it now", 10) == "see\n/a/long/path/to/it\nnow");
  CHECK(laid_out("to know more: 'nocturne show 7' has it", 20) == "to know more:\n'nocturne show 7'\nhas it");
  CHECK(laid_out("it is 'not a command' but text", 14) == "it is 'not a\ncommand' but\ntext");
}

TEST_CASE("a command that is too wide is broken where a shell goes on", "[cli]") {
  CHECK(broken_command("nocturne tune --vary '--a=1,2 3' -- x", 2, 24) ==
        "nocturne tune --vary \\\n      '--a=1,2 3' -- x");
  CHECK(broken_command("nocturne best", 10, 80) == "nocturne best");
  CHECK(broken_command("nocturne best and more", 10, 0) == "nocturne best and more");
  CHECK(laid_out("  nocturne tune x.json --until 07:00", 26) == "  nocturne tune x.json \\\n      --until 07:00");
  CHECK(laid_out("/a/very/long/path/to/python \\\n    train.py", 20) == "/a/very/long/path/to/python \\\n    train.py");
  CHECK(laid_out("  nocturne doctor             what it can", 30) == "  nocturne doctor\n      what it can");
}

TEST_CASE("the lines of a paragraph are one line, those of lists and examples stay", "[cli]") {
  CHECK(filled("one\ntwo\n\nthree\n  a list\n  goes on\nfour\n") == "one two\n\nthree\n  a list\n  goes on\nfour\n");
}

TEST_CASE("a stream of pages lays out whole lines, and passes on what is flushed before", "[cli]") {
  std::ostringstream sink;
  Context context;
  context.out = &sink;
  context.columns = 9;
  {
    Page page(context);
    CHECK(context.out == &page);
    CHECK(&context.verbatim() == &sink);
    page << "one two";
    CHECK(sink.str().empty());
    page << " three" << '\n' << "half" << std::flush;
    CHECK(sink.str() == "one two\nthree\nhalf");
    page << " of a line that was begun\nlast";
  }
  CHECK(sink.str() == "one two\nthree\nhalf of a line that was begun\nlast");
  CHECK(context.out == &sink);
}

TEST_CASE("a page whose sink fails has failed itself", "[cli]") {
  struct Full : std::streambuf {
  } full;
  std::ostream sink(&full);
  Context context;
  context.out = &sink;
  Page page(context);
  page << "a line\n";
  CHECK_FALSE(page.good());
}

TEST_CASE("commands that are proposed name the program as it was called, and are quoted", "[cli]") {
  const std::vector<std::string> called = {"./build/nocturne", "--data", "my data"};
  tuner::set_invocation(called);
  CHECK(tuner::command_text({"show", "17", "--log"}) == "./build/nocturne --data 'my data' show 17 --log");
  CHECK(tuner::command_text("tune", "'a b.json'") == "./build/nocturne --data 'my data' tune 'a b.json'");
  tuner::set_invocation(std::vector<std::string>{"nocturne"});
  CHECK(tuner::command_text({"best", "an evening"}) == "nocturne best 'an evening'");
}

TEST_CASE("a file in a command is named as seen from the current directory", "[cli]") {
  const auto here = std::filesystem::current_path();
  CHECK(tuner::file_word(here / "examples" / "my mnist.json") == "'examples/my mnist.json'");
  CHECK(tuner::file_word("/somewhere/else.json") == "/somewhere/else.json");
  CHECK(tuner::file_word("as/given.json") == "as/given.json");
}
