#include "search/model/memory_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <boost/math/distributions/students_t.hpp>

#include "search/model/student.hpp"

namespace nocturne::search::model {
namespace {

/// The line and the limits meet after a few rounds: an excess can only push the line up.
constexpr int kRounds = 8;

template <typename Peak>
double scale_of(const std::vector<Peak>& peaks, const std::vector<Peak>& exceeded) {
  double largest = 0;
  for (const auto& each : peaks) largest = std::max(largest, each.bytes);
  for (const auto& each : exceeded) largest = std::max(largest, each.bytes);
  return largest;
}

}  // namespace

double MemoryModel::Line::sd(double batch) const {
  const double away = batch - mean_batch;
  return std::sqrt(variance * (1 + 1 / static_cast<double>(points) + away * away / spread));
}

void MemoryModel::tell(const std::string& group, std::int64_t batch, double peak_bytes) {
  groups_[group].peaks.push_back({static_cast<double>(batch), peak_bytes});
}

void MemoryModel::tell_out_of_memory(const std::string& group, std::int64_t batch, double limit_bytes) {
  groups_[group].exceeded.push_back({static_cast<double>(batch), limit_bytes});
}

std::size_t MemoryModel::out_of_memory(const std::string& group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? 0 : found->second.exceeded.size();
}

bool MemoryModel::has_fitted(const std::string& group, std::int64_t batch, double limit_bytes) const {
  const auto found = groups_.find(group);
  return found != groups_.end() && std::ranges::any_of(found->second.peaks, [&](const Peak& each) {
           return each.batch >= static_cast<double>(batch) && each.bytes <= limit_bytes;
         });
}

std::optional<MemoryModel::Line> MemoryModel::least_squares(std::span<const Peak> peaks, double scale) {
  Line line{.points = peaks.size()};
  for (const auto& each : peaks) {
    line.mean_batch += each.batch / static_cast<double>(peaks.size());
    line.mean_bytes += each.bytes / static_cast<double>(peaks.size());
  }
  double together = 0;
  for (const auto& each : peaks) {
    line.spread += (each.batch - line.mean_batch) * (each.batch - line.mean_batch);
    together += (each.batch - line.mean_batch) * (each.bytes - line.mean_bytes);
  }
  // With a single batch size the spread is not 0 but rounding: there is no slope to fit.
  if (!(line.spread > 1e-9 * line.mean_batch * line.mean_batch)) return std::nullopt;
  line.slope = std::max(0.0, together / line.spread);
  // Two points lie on their line exactly; the prior keeps them from looking as if there were no noise.
  double squares = kPriorDegrees * std::pow(kPriorNoise * scale, 2);
  for (const auto& each : peaks) squares += std::pow(each.bytes - line.at(each.batch), 2);
  line.degrees = kPriorDegrees + static_cast<double>(peaks.size()) - 2;
  line.variance = squares / line.degrees;
  return line;
}

std::optional<MemoryModel::Line> MemoryModel::line_of(const Group& group) {
  const double scale = scale_of(group.peaks, group.exceeded);
  auto line = least_squares(group.peaks, scale);
  if (!line) return line;
  for (int round = 0; round < kRounds; ++round) {
    auto points = group.peaks;
    // An out-of-memory gives a lower bound only (a censored observation). Where the line contradicts it, the bound is
    // taken as if it were measured, and the line fitted again.
    for (const auto& each : group.exceeded)
      if (line->at(each.batch) < each.bytes) points.push_back(each);
    if (points.size() == group.peaks.size()) break;
    line = least_squares(points, scale);
  }
  return line;
}

std::optional<MemoryModel::Need> MemoryModel::need(const std::string& group, std::int64_t batch,
                                                   double confidence) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return std::nullopt;
  const auto& known = found->second;
  const auto wanted = static_cast<double>(batch);
  Need need{.lower = 0, .upper = std::numeric_limits<double>::infinity(), .expected = 0};
  // Memory grows with the batch, and not faster than in proportion.
  for (const auto& each : known.peaks) {
    const double proportional = each.bytes * wanted / each.batch;
    need.lower = std::max(need.lower, std::min(each.bytes, proportional) * (1 - 3 * kPriorNoise));
    need.upper = std::min(need.upper, std::max(each.bytes, proportional) * (1 + 3 * kPriorNoise));
    need.expected = std::max(each.bytes, proportional);
  }
  if (const auto line = line_of(known)) {
    const double reach = student_quantile(line->degrees, 0.5 + confidence / 2) * line->sd(wanted);
    need.expected = line->at(wanted);
    const Need bounds = need;
    need.lower = std::max(need.lower, need.expected - reach);
    need.upper = std::min(need.upper, need.expected + reach);
    if (need.lower > need.upper) {  // noisier than bounds allow, or not a line: the wider statement stands
      need.lower = std::min(bounds.lower, need.expected - reach);
      need.upper = std::max(bounds.upper, need.expected + reach);
    }
  }
  for (const auto& each : known.exceeded)
    if (wanted >= each.batch) need.lower = std::max(need.lower, each.bytes);
  need.upper = std::max(need.upper, need.lower);
  need.expected = std::clamp(need.expected, need.lower, need.upper);
  return need;
}

double MemoryModel::fits(const std::string& group, std::int64_t batch, double limit_bytes) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return 0.5;
  const auto& known = found->second;
  const auto wanted = static_cast<double>(batch);
  for (const auto& each : known.exceeded) {
    // What was seen comes before what is fitted: no line may contradict a batch that failed or fitted.
    if (wanted >= each.batch && limit_bytes <= each.bytes) return 0;
  }
  for (const auto& each : known.peaks)
    if (wanted <= each.batch && each.bytes <= limit_bytes) return 1;
  if (const auto line = line_of(known)) {
    const boost::math::students_t student(line->degrees);
    return boost::math::cdf(student, (limit_bytes - line->at(wanted)) / line->sd(wanted));
  }
  const auto bounds = need(group, batch);
  if (bounds->upper <= limit_bytes) return 1;
  if (bounds->lower > limit_bytes) return 0;
  return 0.5;
}

std::vector<std::string> MemoryModel::groups() const {
  std::vector<std::string> names;
  for (const auto& [name, group] : groups_) names.push_back(name);
  return names;
}

std::size_t MemoryModel::peaks(const std::string& group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? 0 : found->second.peaks.size();
}

std::optional<MemoryModel::Coefficients> MemoryModel::coefficients(const std::string& group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return std::nullopt;
  const auto line = line_of(found->second);
  if (!line) return std::nullopt;
  return Coefficients{.fixed_bytes = line->at(0), .bytes_each = line->slope};
}

std::optional<MemoryModel::Largest> MemoryModel::largest(const std::string& group, double limit_bytes,
                                                         double confidence) const {
  if (!need(group, 1, confidence)) return std::nullopt;
  // The largest batch of which this end of the need stays below the limit: needs grow with the batch.
  const auto where = [&](double Need::* end) {
    std::int64_t fits = 0;
    std::int64_t fails = kUnbounded;
    while (fails - fits > 1) {
      const auto middle = fits + (fails - fits) / 2;
      (*need(group, middle, confidence).*end < limit_bytes ? fits : fails) = middle;
    }
    return fits + 1 < kUnbounded ? fits : kUnbounded;
  };
  return Largest{.lower = where(&Need::upper), .expected = where(&Need::expected), .upper = where(&Need::lower)};
}

std::string group_of(const space::Configuration& configuration, std::span<const std::string> parameters) {
  std::string group;
  for (const auto& name : parameters)
    group += (group.empty() ? "" : " ") + name + "=" + configuration.text_of(name, "-");
  return group;
}

namespace {

/// BIC of lines for each group, from the residuals of least squares; a group of one batch size has a constant.
double criterion(std::span<const MemoryObservation> observations, std::span<const std::string> parameters) {
  struct Sums {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  };
  std::map<std::string, Sums> groups;
  double largest = 0;
  for (const auto& each : observations) {
    auto& sums = groups[group_of(each.configuration, parameters)];
    const auto x = static_cast<double>(each.batch);
    sums.n += 1;
    sums.x += x;
    sums.y += each.peak_bytes;
    sums.xx += x * x;
    sums.xy += x * each.peak_bytes;
    sums.yy += each.peak_bytes * each.peak_bytes;
    largest = std::max(largest, each.peak_bytes);
  }
  const auto n = static_cast<double>(observations.size());
  // The prior's share keeps lines through two points each from looking perfect.
  double squares = MemoryModel::kPriorDegrees * std::pow(MemoryModel::kPriorNoise * largest, 2);
  double coefficients = 0;
  for (const auto& [name, sums] : groups) {
    const double spread = sums.xx - sums.x * sums.x / sums.n;
    const double together = sums.xy - sums.x * sums.y / sums.n;
    const bool is_line = spread > 1e-9 * sums.xx;
    squares += std::max(0.0, sums.yy - sums.y * sums.y / sums.n - (is_line ? together * together / spread : 0));
    coefficients += is_line ? 2 : 1;
  }
  // Two observations a coefficient at least: fewer fit any line, whatever the values.
  if (!parameters.empty() && 2 * coefficients > n) return std::numeric_limits<double>::infinity();
  return n * std::log(squares / n) + coefficients * std::log(n);
}

}  // namespace

std::vector<std::string> choose_grouping(std::span<const MemoryObservation> observations,
                                         std::string_view batch_parameter) {
  std::vector<std::string> open;
  for (const auto& each : observations) {
    for (const auto& [name, value] : each.configuration.values())
      if (name != batch_parameter && std::ranges::find(open, name) == open.end()) open.push_back(name);
  }
  std::ranges::sort(open);
  std::vector<std::string> chosen;
  if (observations.empty()) return chosen;
  double least = criterion(observations, chosen);
  for (;;) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < open.size(); ++i) {
      auto more = chosen;
      more.push_back(open[i]);
      const double value = criterion(observations, more);
      // Greedy, one parameter at a time: all subsets would be too many, and few parameters matter to memory.
      if (value >= least) continue;
      least = value;
      best = i;
    }
    if (!best) return chosen;
    chosen.push_back(open[*best]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(*best));
  }
}

}  // namespace nocturne::search::model
