// `nocturne report WHAT`: which page, and its options.

#include "tuner/cli/subcommands/report.hpp"

#include <CLI/CLI.hpp>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/subcommand.hpp"

namespace nocturne::cli {
namespace {

/// Empty: the options fit the page; else a sentence.
std::string misplaced_option(const ReportOptions& options) {
  const bool html = options.what == "html";
  if (html && (options.measure || options.markdown || !options.picture.empty()))
    return "--measure, --markdown and --picture go with paper";
  if (!html && (!options.output.empty() || options.with_names || !options.campaigns.empty()))
    return "a campaign's name, --output and --with-names go with html";
  if (options.campaigns.size() > 2) return "one campaign, or two side by side";
  if (options.campaigns.size() == 2 && options.source.generation)
    return "--generation goes with one campaign; one name twice shows its last two generations";
  return {};
}

}  // namespace

void setup(CLI::App& subcommand, ReportOptions& options) {
  add_value(subcommand, "what", options.what, "WHAT",
            "html: a campaign as one page; paper: the published results of the paper that Nocturne takes up")
      ->required()
      ->check(CLI::IsMember({"html", "paper"}).description(""));
  add_value(subcommand, "campaigns", options.campaigns, "NAME",
            "html: name of the campaign (default: the one opened last); two: side by side");
  add_value(subcommand, "-o,--output", options.output, "FILE",
            "html: where to write; '-' is standard output (default: reports/NAME.html in the data folder)");
  subcommand.add_flag("--with-names", options.with_names,
                      "html: with values of environment variables, words like tokens, names of users and hosts");
  subcommand.add_flag("--measure", options.measure,
                      "paper: measure what is missing, in turns, with the campaign of --campaign");
  add_value(subcommand, "--time", options.time, "DURATION", "paper: for all measurements together (default: 30min)",
            time_span());
  add_value(subcommand, "--pairs", options.pairs, "N",
            "paper: pairs of each published result before the first look (default: 6)", whole_number(2, 1000));
  add_campaign_source(subcommand, options.source);
  subcommand.add_flag("--markdown", options.markdown, "paper: a table to paste into a README");
  add_value(subcommand, "--picture", options.picture, "FILE",
            "paper: write them as one picture (SVG), with intervals; '-' is standard output");
  subcommand.footer(
      "html writes one file to look at and hand on: verdict, pairs, the night, the search, what matters. It needs no\n"
      "network, and works without scripts: each chart has its table. 'tune' writes the same at its end, and while it\n"
      "runs, at most once a minute; the page loads itself again. What is left out of it unless --with-names: values\n"
      "of environment variables, words of a command that look like tokens, names of users and hosts. Two campaigns\n"
      "stand side by side; one name twice: its last two generations, as before and after an upgrade.\n"
      "\n"
      "paper: each published result (arXiv 2008.11675) with the interval that this machine's database gives, and,\n"
      "beside it, what was measured on another machine and came along. It is confirmed or reversed where the\n"
      "whole interval lies on one side of 0, else undecided; the published size lies inside the interval or not.\n"
      "A percentage may mean speed or time saved: the reading that is nearer to the interval is judged.\n"
      "'Similar', 'far behind' and 'stable' are judged by margins of ours. Only pairs that were alive together\n"
      "decide; trials that were measured one after the other are shown as 'not interleaved' and leave a published\n"
      "result undecided. What was never measured names the command that would measure it; what cannot be measured\n"
      "here says why, and the command is for a machine where it can. Exit code 3: nothing speaks for or against\n"
      "any published result yet.\n"
      "\n"
      "Examples:\n"
      "  nocturne report html\n"
      "  nocturne report html mnist-evening --output night.html\n"
      "  nocturne report html mnist-laptop mnist-server\n"
      "  nocturne report paper\n"
      "  nocturne report paper --markdown > published-results.md\n"
      "  nocturne report paper --picture paper.svg\n"
      "  nocturne report paper --measure --time 30min --campaign examples/paper-mnist-cpu.json\n");
}

ExitCode run(const ReportOptions& options, Context& context) {
  if (const std::string sentence = misplaced_option(options); !sentence.empty())
    return complain(context, ExitCode::Usage, sentence);
  return options.what == "html" ? report_html(options, context) : report_paper(options, context);
}

SubcommandAction add_report(CLI::App& subcommand) {
  return add_options<ReportOptions>(subcommand);
}

}  // namespace nocturne::cli
