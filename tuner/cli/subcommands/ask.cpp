// `nocturne ask FOLDER`: what to measure next, for whoever measures it himself.

#include "tuner/cli/subcommand.hpp"

#include <expected>
#include <istream>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/ask_tell/ask_tell.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/search_folder.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"

namespace nocturne::cli {
namespace {

struct AskOptions {
  std::string folder;
  std::string space;  ///< the space file; empty: the folder has a search
  std::int64_t count = 1;
  bool lines = false;  ///< answers lines of standard input until it ends
};

using nlohmann::json;
constexpr std::int64_t kMostAtOnce = 10'000;

/// The answer to one line of --lines. The error is a sentence.
std::expected<json, std::string> reply_to(tuner::AskTell& search, const json& request) {
  const auto has = [&](const char* key) { return request.is_object() && request.size() == 1 && request.contains(key); };
  if (has("ask")) {
    const json& count = request.at("ask");
    if (!count.is_number_integer() || count < 1 || count > kMostAtOnce)
      return std::unexpected(fmt::format("'ask' is how many, from 1 to {}, not {}", kMostAtOnce, count.dump()));
    return json{{"asked", json_list(search.ask(count.get<std::size_t>()), asked_json)}};
  }
  if (has("tell")) {
    const auto answer = tuner::answer_line_from_json(request.at("tell"));
    if (!answer) return std::unexpected(answer.error());
    const auto number = search.tell(*answer);
    if (!number) return std::unexpected(number.error());
    return json{{"told", *number}};
  }
  if (has("standing")) return json{{"standing", standing_json(search.standing())}};
  return std::unexpected(R"(a line is {"ask": COUNT}, {"tell": ANSWER} or {"standing": true})");
}

void say_notes(tuner::AskTell& search, const Context& context) {
  for (const std::string& note : search.take_notes()) *context.err << "Note: " << note << '\n';
}

/// Who speaks this waits for each reply: it is flushed.
ExitCode converse(tuner::AskTell& search, const Context& context) {
  for (std::string line; context.in != nullptr && std::getline(*context.in, line);) {
    const json request = json::parse(line, nullptr, false);
    auto reply = request.is_discarded() ? std::unexpected("this is not JSON: " + line) : reply_to(search, request);
    say_notes(search, context);
    print_line(context, reply ? *std::move(reply) : json{{"error", reply.error()}});
    context.verbatim().flush();
    context.out->flush();
  }
  return ExitCode::Ok;
}

void setup(CLI::App& subcommand, AskOptions& options) {
  add_value(subcommand, "folder", options.folder, "FOLDER", "Where the search lives; made where it is missing")
      ->required();
  add_value(subcommand, "--space", options.space, "FILE",
            "The space file that begins the search (nocturne schema space-file)");
  add_value(subcommand, "-n,--count", options.count, "N",
            "How many to measure at once; each knows of the others (default: 1)", whole_number(1, kMostAtOnce));
  subcommand.add_flag("--lines", options.lines,
                      "Read requests from standard input, a line of JSON each, and reply with a line to each");
  subcommand.footer(
      "The search of 'tune', for any objective and from any language. Prints a line of JSON for each configuration\n"
      "to be measured; 'nocturne tell' takes what came of it. Everything is stored in FOLDER, so each call may be\n"
      "a process of its own. What was asked and not told yet is pending: it is not asked again, and the model\n"
      "takes it into account. Ends with 1 where nothing is left to ask.\n"
      "\n"
      "A space file is a campaign file's 'space', and which values are better (smaller ones, unless it says so):\n"
      "\n"
      "  {\"objective\": {\"direction\": \"maximise\", \"scale\": \"linear\"},\n"
      "   \"space\": {\"parameters\": [{\"name\": \"depth\", \"range\": [1, 12]},\n"
      "                            {\"name\": \"booster\", \"values\": [\"tree\", \"linear\"]}]}}\n"
      "\n"
      "With --lines, {\"ask\": 2} is replied to with {\"asked\": [...]}, {\"tell\": ANSWER} with {\"told\": NUMBER},\n"
      "{\"standing\": true} with the counts and the best, and what is wrong with {\"error\": SENTENCE}.\n"
      "\n"
      "Examples:\n"
      "  nocturne ask search --space space.json\n"
      "  nocturne ask search --count 4\n"
      "  nocturne ask search --lines");
}

ExitCode run(const AskOptions& options, Context& context) {
  const auto search = open_search(context, options.folder, options.space);
  if (options.lines) return converse(*search, context);
  const auto asked = search->ask(static_cast<std::size_t>(options.count));
  say_notes(*search, context);
  if (context.json) {
    print_json(context, "ask",
               {{"folder", options.folder},
                {"asked", json_list(asked, asked_json)},
                {"standing", standing_json(search->standing())}});
  } else {
    for (const db::AskAnswer& each : asked) print_line(context, asked_json(each));
  }
  if (!asked.empty()) return ExitCode::Ok;
  *context.err << "Nothing is left to ask.\n";
  return ExitCode::Negative;
}

}  // namespace

SubcommandAction add_ask(CLI::App& subcommand) {
  return add_options<AskOptions>(subcommand);
}

}  // namespace nocturne::cli
