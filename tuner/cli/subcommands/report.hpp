#pragma once

/// `nocturne report WHAT`: what a campaign came to as one page to look at, or the paper's published results.

#include <string>
#include <vector>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/campaign_source.hpp"

namespace nocturne::cli {

struct ReportOptions {
  std::string what;                    ///< html, paper
  std::vector<std::string> campaigns;  ///< html: names, two at most; none: as `source` says
  CampaignSourceOptions source;        ///< html: its generation
  std::string output;                  ///< html: a file, or "-"; empty: in the data folder
  bool with_names = false;             ///< html: leave nothing out
  bool measure = false;
  std::string time = "30min";  ///< with `measure`, for all of it
  int pairs = 6;
  bool markdown = false;
  std::string picture;  ///< paper: a file, or "-"; empty: none
};

void setup(CLI::App& subcommand, ReportOptions& options);
[[nodiscard]] ExitCode run(const ReportOptions& options, Context& context);

/// NotFound: there is no such campaign.
[[nodiscard]] ExitCode report_html(const ReportOptions& options, const Context& context);
/// NotFound: nothing on this machine speaks for or against any published result.
[[nodiscard]] ExitCode report_paper(const ReportOptions& options, Context& context);

}  // namespace nocturne::cli
