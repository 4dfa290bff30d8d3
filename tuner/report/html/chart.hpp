#pragma once

/// A chart as the page draws it: what is shown, in words a newcomer understands, and the same as a table. Pure data;
/// page.js makes a picture of it, the table is there without scripts.
///
/// Where `rows` is empty, data have numbers on both axes. Else a row is a horizontal bar with a name, and only the
/// x axis has numbers.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/outcome.hpp"

namespace nocturne::report {

struct Axis {
  std::string title;               ///< what is shown, with its unit
  std::optional<double> low = {};  ///< ends of the axis; what lies beyond is cut off. Empty: as the data want
  std::optional<double> high = {};
  bool logarithmic = false;
  bool whole = false;  ///< counts: nothing lies between two numbers
};

/// Readable without seeing hues: each form of data has a shape of its own, too.
enum class Hue { Main, Other, Good, Warning, Extra, Faint };
enum class Form {
  Points,
  Line,
  Steps,  ///< holds until the next one
  Band,   ///< between `low` and `high`
  Bars,   ///< of a row, from `low` to `high`
};

struct Datum {
  double at = 0;  ///< x, or the number of the row
  /// y, or x in a row; a band and a bar reach from `low` to `high`, of the other forms both are the same.
  double low = 0, high = 0;
  std::string text{};  ///< said of this one
  /// Said instead: the number of a trial, of which the page knows the settings.
  std::optional<std::int64_t> trial{};
};

struct Series {
  std::string name;
  Form form = Form::Points;
  Hue hue = Hue::Main;
  std::vector<Datum> data{};
  bool dashed = false;
};

/// A line across the chart.
struct Mark {
  double at = 0;
  std::string text;
  bool vertical = false;
};

struct ChartTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Chart {
  std::string id;     ///< one word, unique in the page
  std::string title;  ///< a question or a statement
  std::string says;   ///< what it shows, in sentences: also what is read out instead of the picture
  Axis x, y;
  std::vector<std::string> rows{};
  std::vector<Series> series{};
  std::vector<Mark> marks{};
  ChartTable table{};
  std::size_t campaign = 0;  ///< which of those of the page its trials are of
};

/// What page.js reads: not the title, what it says and the table, which stand in the page.
[[nodiscard]] nlohmann::json to_json(const Chart& chart);
/// Six digits, which are less than a pixel and than the error of any measurement; whole numbers without a point.
[[nodiscard]] nlohmann::json number_json(double value);

/// A point of a line.
[[nodiscard]] inline Datum point(double at, double value, std::string text = {}) {
  return {.at = at, .low = value, .high = value, .text = std::move(text)};
}

[[nodiscard]] inline Datum trial_point(double at, double value, std::int64_t trial) {
  return {.at = at, .low = value, .high = value, .trial = trial};
}

/// Whether an axis from `least` to `most` has to be logarithmic for the small ones to be told from each other.
[[nodiscard]] bool spans_much(double least, double most);

/// Three significant digits, without an exponent: "0.00123", "4.71", "1234".
[[nodiscard]] std::string digits(double value);
/// The same with its sign: "+4.71".
[[nodiscard]] std::string signed_digits(double value);
/// "out of memory"
[[nodiscard]] std::string outcome_words(space::Outcome outcome);

}  // namespace nocturne::report
