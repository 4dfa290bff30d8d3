#include "kernels/command/options.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace nocturne::command {
namespace {

constexpr std::array<std::string_view, 10> kWithValue = {"--time",       "--pattern", "--accuracy", "--batch",
                                                         "--folder",     "--shim",    "--inject",   "--view",
                                                         "--view-limit", "--share"};

Timing timing_of(const std::string& word) {
  if (word == "process") return Timing::Process;
  if (word == "steps") return Timing::Steps;
  if (word == "pattern") return Timing::Pattern;
  if (word == "detect") return Timing::Detect;
  throw std::runtime_error("--time is '" + word + "'; allowed: process, steps, pattern, detect");
}

ViewKind view_of(const std::string& word) {
  if (word == "none") return ViewKind::None;
  if (word == "overlay") return ViewKind::Overlay;
  if (word == "copy") return ViewKind::Copy;
  if (word == "auto") return ViewKind::Auto;
  throw std::runtime_error("--view is '" + word + "'; allowed: none, overlay, copy, auto");
}

std::int64_t whole_number(const std::string& option, const std::string& word) {
  const bool digits = !word.empty() && word.size() < 18 && word.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || word == "0") throw std::runtime_error(option + " is '" + word + "', not a whole number above 0");
  return std::stoll(word);
}

/// The word behind an option is its value.
void set_option(const std::string& name, const std::string& word, Options& options) {
  if (name == "--time") options.timing = timing_of(word);
  if (name == "--pattern") options.pattern = word;
  if (name == "--accuracy") options.accuracy = word;
  if (name == "--batch") options.batch = whole_number(name, word);
  if (name == "--folder") options.folder = word;
  if (name == "--shim") options.shim = word;
  if (name == "--inject") options.inject = word;
  if (name == "--view") options.view.kind = view_of(word);
  if (name == "--view-limit") options.view.limit_bytes = static_cast<std::uintmax_t>(whole_number(name, word));
  if (name == "--share") options.view.shares.emplace_back(word);
}

void check_view(const Options& options) {
  const ViewPlan& view = options.view;
  if (view.kind == ViewKind::None && (view.covers_outside || !view.shares.empty()))
    throw std::runtime_error("--share and --cover-outside belong to a --view");
}

}  // namespace

const char* const kHelp =
    "nocturne-command-worker: runs a program that knows nothing of Nocturne, and speaks the worker protocol for it.\n"
    "\n"
    "  nocturne-command-worker [OPTIONS] -- COMMAND [ARGUMENT...] --request FILE --events FILE\n"
    "\n"
    "The last four words are Nocturne's own and no arguments of the command.\n"
    "\n"
    "  --time process     the whole process is one step (the default)\n"
    "  --time steps       the module in front of it sees its steps, or it calls step() of nocturne_steps\n"
    "  --time pattern     --pattern finds steps in its output\n"
    "  --time detect      as steps where there are any, else as process\n"
    "  --pattern REGEX    RE2; each line that matches is the end of a step. Groups: step_seconds (so does a group\n"
    "                     without a name), step_milliseconds, samples_per_second, steps_per_second, total_seconds\n"
    "                     (of the whole run, said once), step (its number), samples (examples of the epoch by then),\n"
    "                     loss. Without a time: the time between two lines\n"
    "  --accuracy REGEX   RE2; a line that matches says how accurate it is, in a run that draws a learning curve.\n"
    "                     Groups: accuracy (0 to 1), percent, right and of (counted examples); without a name: 0 to\n"
    "                     1, above in percent\n"
    "  --batch N          examples of a step, for samples and samples_per_second\n"
    "  --folder DIR       where the command starts\n"
    "  --shim FILE        nocturne_steps.py, put where Python finds it\n"
    "  --inject DIR       the module in front of Python scripts (kernels/inject), likewise\n"
    "  --view none        it writes for real (the default)\n"
    "  --view overlay     it has a private view of its folder: what it writes there goes into the run's folder, and\n"
    "                     view.json beside the events says what that was; TMPDIR, caches of compiled code and\n"
    "                     experiment trackers are the run's own\n"
    "  --view copy        likewise, in a copy of its folder\n"
    "  --view auto        overlay, else copy, else an error\n"
    "  --view-limit N     bytes of the largest folder that is copied; 1073741824\n"
    "  --share DIR        writes for real in there; as often as needed\n"
    "  --cover-outside    what it writes beside its folder is kept apart as well, and named; but what programs\n"
    "                     download once, below ~/.cache, ~/.keras and the like, is real\n";

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  const auto dashes = std::ranges::find(arguments, "--");
  for (auto word = arguments.begin(); word != dashes; ++word) {
    const std::string& name = *word;
    if (name == "--cover-outside") {
      options.view.covers_outside = true;
      continue;
    }
    if (std::ranges::find(kWithValue, name) == kWithValue.end())
      throw std::runtime_error("unknown option '" + name + "'; --help lists them");
    if (++word == dashes) throw std::runtime_error(name + " needs a value");
    set_option(name, *word, options);
  }
  if (dashes == arguments.end()) throw std::runtime_error("there is no command: it stands behind '--'");
  std::vector<std::string> words(dashes + 1, arguments.end());
  const std::size_t count = words.size();
  if (count < 4 || words[count - 4] != "--request" || words[count - 2] != "--events")
    throw std::runtime_error("the last words have to be --request FILE --events FILE");
  options.request = words[count - 3];
  options.events = words[count - 1];
  words.resize(count - 4);
  if (words.empty() || words.front().empty())
    throw std::runtime_error("there is no command between '--' and --request");
  options.command = std::move(words);
  check_view(options);
  if ((options.timing == Timing::Pattern) == options.pattern.empty())
    throw std::runtime_error("--time pattern and --pattern go together");
  return options;
}

}  // namespace nocturne::command
