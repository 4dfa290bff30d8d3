#pragma once

/// One HTML file that needs nothing else: styles, scripts, charts with their tables, and the documents of `--json`.
///
/// No request to any network: the page's own policy forbids all of them, and lets only those scripts run whose hashes
/// it names, the library of charts among them, which the page's script unpacks. Without scripts, or where a browser
/// cannot do that, the tables are open and say the same. Whatever comes from a campaign is escaped.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/report/html/chart.hpp"
#include "tuner/report/html/discretion.hpp"

namespace nocturne::report {

/// A line to be copied into a shell.
struct ShellLine {
  std::string what;  ///< what it does
  std::string line;
};

/// What the page begins with, for who reads no further.
struct Headline {
  std::string verdict;  ///< a sentence, with the interval
  bool proven = false;  ///< the best is faster beyond doubt
  std::vector<ShellLine> run{};
  std::vector<std::string> wrong{};  ///< what went wrong, sentences; empty: nothing
};

struct PageSection {
  std::string id, heading;
  std::vector<Chart> charts{};
  std::string instead{};  ///< why there is no chart, and what to do; empty: none is missing
};

struct PageFact {
  std::string name, value;
};

struct Page {
  std::string title;
  std::string state;     ///< "finished 2026-05-31 07:02"
  bool running = false;  ///< the page loads itself again, and when it grows old says so
  std::vector<PageFact> facts{};
  Headline headline{};
  std::vector<PageSection> sections{};
  std::vector<nlohmann::json> documents{};  ///< each with its `schema`
  std::string written;                      ///< when, and by which program
  std::int64_t written_unix_s = 0;          ///< the same moment, for the script of a page that is running
};

/// UTF-8. `discretion` sees each text before it is escaped.
[[nodiscard]] std::string html_of(const Page& page, const Discretion& discretion);

/// `text` for HTML, between tags and in quoted attributes: markup characters as references, what is no UTF-8 and
/// control characters but newline and tab as U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

// The files of this folder and of the library of charts, as they are in the page. Generated.
[[nodiscard]] const std::string& page_styles();
[[nodiscard]] const std::string& page_script();
/// Compressed (RFC 1952): it is two thirds of a small page. Hexadecimal digits, as its hash, which is that of the text.
[[nodiscard]] const std::string& chart_library_gzip();
[[nodiscard]] std::string_view chart_library_sha256();
[[nodiscard]] const std::string& chart_licence();

}  // namespace nocturne::report
