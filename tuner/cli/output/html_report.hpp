#pragma once

/// The page of a campaign as `report html` and `tune` write it (tuner/report/html): with the sentences and commands of
/// the other pages, and the documents of `--json`.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct HtmlReport {
  tuner::Answer answer;
  tuner::Expectations expectations{};  ///< empty where the campaign is still running
  bool running = false;                ///< a session measures: the page loads itself again
};

/// Of one campaign, or of several side by side. REQUIRES: not empty.
[[nodiscard]] std::string html_text(const Context& context, const db::Store& store, std::vector<HtmlReport> reports,
                                    bool with_names);
/// reports/NAME.html in the data folder.
[[nodiscard]] std::filesystem::path html_file(const Context& context, const db::CampaignSummary& campaign);
/// Replaces the file as a whole; its size in bytes. The error is a sentence with the path.
[[nodiscard]] std::expected<std::int64_t, std::string> write_html(const Context& context, const db::Store& store,
                                                                  std::vector<HtmlReport> reports,
                                                                  const std::filesystem::path& file, bool with_names);

}  // namespace nocturne::cli
