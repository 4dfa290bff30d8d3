#include "tuner/report/published_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/report/html/page.hpp"

namespace nocturne::report {
namespace {

// Pixels.
constexpr double kWidth = 900, kLeft = 330, kRight = 880, kTop = 80, kRow = 22, kHeading = 30, kBottom = 46;
// Of the axis, in percent of speed; it is logarithmic, so that twice and half are equally far.
constexpr double kLowest = -70, kHighest = 140;
constexpr std::array kTicks = {-60, -40, -20, 0, 25, 50, 100};

constexpr const char* kStyle = R"(<style>
  .back { fill: #ffffff }
  text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #1f2328 }
  .heading { font-weight: bold }
  .axis { stroke: #d0d7de } .zero { stroke: #59636e }
  .paper { fill: #afb8c1; stroke: #6e7781 } .before { fill: #0969da; stroke: #0969da } .here { fill: #1a7f37; stroke: #1a7f37 }
  .paper.range { opacity: 0.45; stroke: none }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 }
    text { fill: #e6edf3 }
    .axis { stroke: #30363d } .zero { stroke: #9198a1 }
    .paper { fill: #656c76; stroke: #9198a1 } .before { fill: #79c0ff; stroke: #79c0ff } .here { fill: #56d364; stroke: #56d364 }
  }
</style>
)";

/// Where a gain lies; what is off the axis lies at its end.
double place_of(double percent) {
  const double clamped = std::clamp(percent, kLowest, kHighest);
  const double low = std::log1p(kLowest / 100), high = std::log1p(kHighest / 100);
  return kLeft + (std::log1p(clamped / 100) - low) / (high - low) * (kRight - kLeft);
}

/// What the paper says as a range: both readings of a size, a margin, or a whole side.
std::pair<double, double> range_of(const PublishedResult& published) {
  if (published.published_percent) {
    return std::minmax({gain_percent(*published.published_percent, Reading::Speed),
                        gain_percent(*published.published_percent, Reading::TimeSaved)});
  }
  const double margin = published.margin_percent, mirrored = 100 * (1 / (1 + margin / 100) - 1);
  if (published.kind == PublishedKind::Same) return {mirrored, margin};
  if (published.kind == PublishedKind::FarBehind) return {kLowest, mirrored};
  return {0, kHighest};
}

class Drawing {
 public:
  void heading(const std::string& text) {
    below_ += kHeading;
    add(R"(<text class="heading" x="10" y="{:.1f}">{}</text>)", below_ - 9, escaped(text));
  }
  void row(const PicturedResult& result) {
    const PublishedResult& published = result.published;
    const double middle = below_ + kRow / 2;
    below_ += kRow;
    add(R"(<text x="20" y="{:.1f}">{}{}</text>)", middle + 4, escaped(published.title),
        published.today ? " (today)" : "");
    // Of an interaction the paper names no direction.
    if (published.kind != PublishedKind::Interaction) {
      const auto [low, high] = range_of(published);
      const double from = place_of(low), to = std::max(place_of(high), from + 4);
      add(R"(<rect class="paper{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="10"/>)",
          published.published_percent ? "" : " range", from, middle - 5, to - from);
    }
    for (const ShippedAnswer& each : published.shipped)
      mark("before", each.machine, middle - 3, each.percent, each.low_percent, each.high_percent);
    if (result.evidence && result.evidence->grade == Grade::Pairs)
      mark("here", "this machine", middle + 4, result.evidence->percent, result.evidence->low_percent,
           result.evidence->high_percent);
  }
  /// `machines`: whose answers came along.
  [[nodiscard]] std::string finished(const std::set<std::string>& machines) const {
    const double bottom = below_ + 6;
    std::string axis;
    for (const int tick : kTicks) {
      const double x = place_of(tick);
      axis +=
          fmt::format(R"(<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                      "\n"
                      R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}{} %</text>)"
                      "\n",
                      tick == 0 ? "zero" : "axis", x, x, kTop - 4, bottom, x, bottom + 16, tick > 0 ? "+" : "", tick);
    }
    const double height = below_ + kBottom;
    return fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}">)"
        "\n<title>What the paper says, and what was measured: gains in speed with 95 % intervals</title>\n{2}"
        R"(<rect class="back" width="{0:.0f}" height="{1:.0f}"/>)"
        "\n{3}{4}{5}</svg>\n",
        kWidth, height, kStyle, legend(machines), axis, body_);
  }

 private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    body_ += fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }
  void mark(const char* kind, const std::string& machine, double y, double percent, double low, double high) {
    add(R"(<line class="{}" stroke-width="2" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)", kind, place_of(low),
        place_of(high), y, y);
    add(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3.5"><title>{}: {:+.1f} % ({:+.1f} to {:+.1f} %)</title></circle>)",
        kind, place_of(percent), y, escaped(machine), percent, low, high);
  }
  static std::string legend(const std::set<std::string>& machines) {
    const auto entry = [](const char* kind, double x, double y, const std::string& what) {
      return fmt::format(R"(<rect class="{}" x="{:.0f}" y="{:.0f}" width="12" height="10"/>)"
                         R"(<text x="{:.0f}" y="{:.0f}">{}</text>)"
                         "\n",
                         kind, x, y - 9, x + 18, y, escaped(what));
    };
    const std::string before = machines.empty() ? "measured before" : fmt::format("{}", fmt::join(machines, "; "));
    return R"(<text class="heading" x="10" y="20">Speed against the reference, 95 % intervals of pairs in turns</text>)"
           "\n" +
           entry("paper", 20, 43,
                 "the paper: from one reading of its percentage to the other, its margin or its side") +
           entry("here", 20, 63, "this machine") + entry("before", 160, 63, before);
  }

  std::string body_;
  double below_ = kTop;
};

}  // namespace

std::string published_picture(const std::vector<PicturedResult>& results) {
  std::vector<std::string> groups;
  for (const PicturedResult& each : results) {
    const std::string& group = each.published.group;
    if (!is_of_epochs(each.published.kind) && std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  Drawing drawing;
  for (const std::string& group : groups) {
    drawing.heading(group);
    for (const PicturedResult& each : results)
      if (!is_of_epochs(each.published.kind) && each.published.group == group) drawing.row(each);
  }
  std::set<std::string> machines;
  for (const PicturedResult& each : results)
    for (const ShippedAnswer& shipped : each.published.shipped) machines.insert(shipped.machine);
  return drawing.finished(machines);
}

}  // namespace nocturne::report
