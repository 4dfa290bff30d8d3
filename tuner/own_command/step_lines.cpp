#include "tuner/own_command/step_lines.hpp"

#include <array>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

namespace nocturne::tuner {
namespace {

/// Fewer could be anything.
constexpr std::size_t kFewestLines = 3;
constexpr std::size_t kLongestLine = 4096;

/// A way in which trainings print how far they are. `number` is one number, what stands for it in the pattern.
struct Form {
  std::string_view pattern;
  bool counts = false;  ///< a number that grows from line to line
};

// What tells the time of a step itself comes before what only counts: the clock of lines has the delays of a pipe.
constexpr std::array kForms = {
    Form{R"((?P<samples_per_second>[0-9][0-9,.]*) (?:images|imgs?|samples|examples)/s)"},
    Form{R"((?P<step_milliseconds>[0-9][0-9.]*) ?ms/(?:step|it|batch)\b)"},
    Form{R"((?P<step_seconds>[0-9][0-9.]*) ?s/(?:step|it|batch)\b)"},
    Form{R"((?P<steps_per_second>[0-9][0-9.]*) ?(?:it|steps?|batch(?:es)?)/s)"},
    Form{R"(\[(?P<samples>[0-9]+)/([0-9]+) \([0-9.]+ ?%\)\])", true},
    Form{R"(\b[Ss]tep[ :=#\[]*(?P<step>[0-9]+))", true},
    Form{R"(\b[Ii]ter(?:ation)?[ :=#\[]*(?P<step>[0-9]+))", true},
    Form{R"(\b[Bb]atch[ :=#\[]*(?P<step>[0-9]+))", true},
};
constexpr std::string_view kLoss = R"(.*\b[Ll]oss[ :=]*(?P<loss>[0-9.eE+-]+))";

std::vector<std::string_view> lines_of(std::string_view output) {
  std::vector<std::string_view> lines;
  while (!output.empty()) {
    const std::size_t end = output.find_first_of("\r\n");  // progress bars end with \r
    if (end != 0 && end <= kLongestLine) lines.push_back(output.substr(0, end));
    if (end == std::string_view::npos) break;
    output.remove_prefix(end + 1);
  }
  return lines;
}

std::unique_ptr<RE2> compiled(const std::string& pattern) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  return std::make_unique<RE2>(pattern, quiet);
}

bool matches(std::string_view line, const RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern);
}

std::vector<std::string_view> matching(const std::vector<std::string_view>& lines, const RE2& pattern) {
  std::vector<std::string_view> found;
  for (const std::string_view line : lines)
    if (matches(line, pattern)) found.push_back(line);
  return found;
}

/// Whether the first group grows from line to line, but where it begins again.
bool grows(const std::vector<std::string_view>& lines, const RE2& pattern) {
  std::size_t more = 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::int64_t now = 0;
    if (!RE2::PartialMatch(re2::StringPiece(lines[i].data(), lines[i].size()), pattern, &now)) return false;
    if (i > 0 && now > last) ++more;
    last = now;
  }
  return more + 1 >= kFewestLines;
}

}  // namespace

std::optional<StepLines> find_step_lines(std::string_view output) {
  const auto lines = lines_of(output);
  for (const Form& form : kForms) {
    std::string pattern(form.pattern);
    const auto rule = compiled(pattern);
    const auto found = matching(lines, *rule);
    if (found.size() < kFewestLines || (form.counts && !grows(found, *rule))) continue;
    StepLines steps{.pattern = {}, .line = std::string(found.back()), .examples = {}};
    if (pattern.contains("<samples>")) {
      std::int64_t total = 0;
      RE2::PartialMatch(steps.line, *rule, static_cast<void*>(nullptr), &total);
      steps.examples = total;
      pattern = R"(\[(?P<samples>[0-9]+)/)";
    }
    const std::string with_loss = pattern + std::string(kLoss);
    steps.pattern = matching(found, *compiled(with_loss)).size() == found.size() ? with_loss : pattern;
    return steps;
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
