// The reference, README's table and the man pages are what the program says now; examples are commands it understands.

#include "tuner/cli/manual_text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/cli/cli.hpp"

using namespace nocturne;
using cli::ExitCode;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> subcommands_with_help() {
  std::vector<std::string> names;
  for (const cli::Subcommand& subcommand : cli::subcommands()) names.emplace_back(subcommand.name);
  return names;
}

/// Words of a command for a shell, as far as examples need it: single quotes. Ends where another program, a file or an
/// explanation in a second column begins.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\'') {
      quoted = !quoted;
    } else if (quoted || line[at] != ' ') {
      words.back() += line[at];
    } else if (line.substr(at).starts_with("  ") || line.substr(at).starts_with(" > ") ||
               line.substr(at).starts_with(" | ")) {
      break;
    } else {
      words.emplace_back();
    }
  }
  return words;
}

std::vector<std::vector<std::string>> examples_in(const std::string& help) {
  constexpr std::string_view begin = "  nocturne ";
  std::vector<std::vector<std::string>> examples;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(begin)) examples.push_back(words_of(line.substr(begin.size())));
  return examples;
}

/// The command line's options and their checks, without what runs a subcommand.
void parse(std::vector<std::string> words) {
  CLI::App root;
  root.require_subcommand(0, 1);
  std::string path;
  bool json = false;
  root.add_option("--db", path);
  root.add_flag("--json", json);
  std::vector<std::function<ExitCode(cli::Context&)>> options;  // they own what the parser writes into
  for (const cli::Subcommand& subcommand : cli::subcommands()) {
    CLI::App* app = root.add_subcommand(std::string(subcommand.name));
    options.push_back(subcommand.add(*app));
    app->fallthrough();
  }
  if (words.front() == "tune") words.erase(std::ranges::find(words, "--"), words.end());  // the user's own command
  root.parse(std::vector<std::string>(words.rbegin(), words.rend()));
}

}  // namespace

TEST_CASE("the committed reference is what the program says now: nocturne manual > docs/reference.md",
          "[cli][manual]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"manual"}) == ExitCode::Ok);
  CHECK(cli.out() == text_of(fs::path(NOCTURNE_SOURCE_DIR) / "docs/reference.md"));
}

TEST_CASE("README's table of subcommands is what the program says now: nocturne manual --table", "[cli][manual]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"manual", "--table"}) == ExitCode::Ok);
  CHECK(text_of(fs::path(NOCTURNE_SOURCE_DIR) / "README.md").contains("\n\n" + cli.out() + "\n"));
}

TEST_CASE("each relative link of a page leads to a file", "[cli][manual]") {
  const fs::path root = NOCTURNE_SOURCE_DIR;
  const std::regex link(R"(\]\(([^)#\s]+))");
  std::size_t links = 0;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory() && (name.starts_with('.') || name == "build")) entry.disable_recursion_pending();
    if (entry->path().extension() != ".md") continue;
    const std::string text = text_of(entry->path());
    for (auto found = std::sregex_iterator(text.begin(), text.end(), link); found != std::sregex_iterator(); ++found) {
      const std::string target = (*found)[1];
      if (target.contains("://")) continue;
      CAPTURE(entry->path(), target);
      CHECK(fs::exists(entry->path().parent_path() / target));
      ++links;
    }
  }
  CHECK(links > 100);
}

TEST_CASE("there is a man page for each subcommand, and no line that troff would take for its own", "[cli][manual]") {
  test::CliFixture cli;
  const fs::path folder = cli.folder() / "man";
  CHECK(cli.nocturne({"manual", "--man", folder.string()}) == ExitCode::Ok);
  for (const cli::Subcommand& subcommand : cli::subcommands()) {
    const fs::path file = folder / ("nocturne-" + std::string(subcommand.name) + ".1");
    CAPTURE(file);
    CHECK(fs::exists(file) != subcommand.group.empty());
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    CAPTURE(entry.path());
    std::istringstream lines(text_of(entry.path()));
    std::string line;
    std::getline(lines, line);
    CHECK(line.starts_with(".TH NOCTURNE"));
    while (std::getline(lines, line)) {
      CAPTURE(line);
      CHECK_FALSE(line.starts_with('\''));
      const std::string request = line.substr(0, line.find(' '));
      if (line.starts_with('.')) CHECK(std::string_view(".SH .SS .TP .PP .B .BR .nf .fi").contains(request));
    }
  }
}

TEST_CASE("every example of every help is a command that the program understands", "[cli][manual]") {
  test::CliFixture cli;
  std::size_t seen = 0;
  std::vector<std::vector<std::string>> calls = {{"--help"}};
  for (const std::string& name : subcommands_with_help()) calls.push_back({name, "--help"});
  for (const auto& call : calls) {
    CHECK(cli.nocturne(call) == ExitCode::Ok);
    for (const auto& words : examples_in(cli.out())) {
      CAPTURE(call.front(), words);
      CHECK_NOTHROW(parse(words));
      ++seen;
    }
  }
  CHECK(seen > 50);
}
