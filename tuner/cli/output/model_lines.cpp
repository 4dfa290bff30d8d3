#include "tuner/cli/output/model_lines.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "search/history/prior.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

using search::model::MemoryModel;

std::string bytes_of(double bytes) {
  return std::isfinite(bytes) ? bytes_text(std::llround(bytes)) : "any amount";
}

/// "12,345"
std::string with_commas(std::int64_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string largest_text(const MemoryLine& line) {
  const auto& largest = *line.largest;
  const auto limit = bytes_of(line.limit_bytes);
  if (!line.line && largest.lower > 0) {  // memory grows in proportion at most
    return fmt::format("at least {} image{} fit{} in {}", with_commas(largest.lower), largest.lower == 1 ? "" : "s",
                       largest.lower == 1 ? "s" : "", limit);
  }
  if (largest.expected == 0) return fmt::format("no batch fits in {}", limit);
  if (largest.expected == MemoryModel::kUnbounded) return fmt::format("any batch fits in {}", limit);
  auto text = fmt::format("at most {} image{} fit{} in {}", with_commas(largest.expected),
                          largest.expected == 1 ? "" : "s", largest.expected == 1 ? "s" : "", limit);
  if (largest.upper == MemoryModel::kUnbounded)
    return text + fmt::format(" (90 %: {} or more)", with_commas(largest.lower));
  return text + fmt::format(" (90 %: {} to {})", with_commas(largest.lower), with_commas(largest.upper));
}

/// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    auto last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (auto i = first; i <= last; ++i) result[order[i]] = 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return result;
}

/// Spearman's: the correlation of the ranks. 0 where all are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto x = ranks(a), y = ranks(b);
  const double mean = 0.5 * static_cast<double>(x.size() - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::string line_of(tuner::LearnedCampaign& learned, search::history::Ranking& ranking, double weight) {
  std::vector<double> here, there;
  for (const space::Trial& trial : learned.trials) {
    if (!trial.estimate || !(trial.estimate->value > 0)) continue;
    if (const auto point = learned.lattice().point_of(trial.configuration)) {
      here.push_back(trial.estimate->value);
      there.push_back(ranking.mean(*point));
    }
  }
  return fmt::format(
      "the order of '{}' ({} trials) has {:.0f} % of the model's weight; rank correlation with {} trials of this "
      "campaign {:.2f}",
      ranking.name(), ranking.trials(), 100 * weight, here.size(), rank_correlation(here, there));
}

}  // namespace

std::vector<MemoryLine> memory_lines(search::MemoryGuard& memory) {
  std::vector<MemoryLine> lines;
  const auto& model = memory.lines();
  for (const auto& group : model.groups()) {
    MemoryLine line{.group = group,
                    .peaks = model.peaks(group),
                    .out_of_memory = model.out_of_memory(group),
                    .limit_bytes = memory.limit_bytes(),
                    .line = model.coefficients(group)};
    if (memory.guards()) line.largest = model.largest(group, memory.limit_bytes());
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string to_text(const MemoryLine& line) {
  std::string text =
      line.line ? fmt::format("{} + {} an image", bytes_of(line.line->fixed_bytes), bytes_of(line.line->bytes_each))
                : "one batch size only: its growth is not known";
  if (!line.group.empty()) text += " (" + line.group + ")";
  if (line.largest) text += "; " + largest_text(line);
  if (line.out_of_memory > 0) text += fmt::format("; out of memory {} times", line.out_of_memory);
  return text;
}

nlohmann::json memory_json(const std::vector<MemoryLine>& lines) {
  auto document = nlohmann::json::array();
  for (const auto& line : lines) {
    nlohmann::json row = {{"group", line.group},     {"trials", line.peaks},  {"out_of_memory", line.out_of_memory},
                          {"fixed_bytes", nullptr},  {"bytes_each", nullptr}, {"limit_bytes", nullptr},
                          {"largest_batch", nullptr}};
    if (line.line) {
      row["fixed_bytes"] = line.line->fixed_bytes;
      row["bytes_each"] = line.line->bytes_each;
    }
    if (line.limit_bytes > 0) row["limit_bytes"] = line.limit_bytes;
    if (line.largest) {
      const auto end = [](std::int64_t batch) {
        return batch == MemoryModel::kUnbounded ? nlohmann::json(nullptr) : nlohmann::json(batch);
      };
      row["largest_batch"] = {{"expected", end(line.largest->expected)},
                              {"low", end(line.largest->lower)},
                              {"high", end(line.largest->upper)}};
    }
    document.push_back(std::move(row));
  }
  return document;
}

std::string memory_text(search::MemoryGuard& memory, space::Point point) {
  const auto need = memory.need(point);
  if (!need) return {};
  auto text =
      fmt::format("{} (90 %: {} to {})", bytes_of(need->expected), bytes_of(need->lower), bytes_of(need->upper));
  if (!memory.guards()) return text;
  const double fits = memory.fits(point);
  if (fits == 0) return text + fmt::format("; does not fit in {}, so it is not tried", bytes_of(memory.limit_bytes()));
  return text + fmt::format("; fits in {}{}", bytes_of(memory.limit_bytes()),
                            fits > 0.99 ? std::string() : fmt::format(" with a probability of {:.0f} %", 100 * fits));
}

std::vector<std::string> history_lines(tuner::LearnedCampaign& learned) {
  std::vector<std::string> lines;
  if (learned.history.empty()) return lines;
  lines.push_back(learned.history);
  const auto& prior = learned.search->models().prior();
  if (prior.holds()) {
    const double slower = 100 * std::expm1(prior.offset().mean);
    lines.push_back(fmt::format(
        "earlier trials here are believed: {} of {} new measurements lay within the 90 % intervals predicted with "
        "them; the machine is {:.1f} % {} than it was",
        prior.agreement().inside(), prior.agreement().measured(), std::abs(slower), slower < 0 ? "faster" : "slower"));
  } else if (!prior.given_up().empty()) {
    lines.push_back(prior.given_up());
  }
  if (!prior.ranks_given_up().empty()) lines.push_back(prior.ranks_given_up());
  if (!prior.ranks()) return lines;
  const auto& weights = learned.search->models().times().scales().weights;
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  auto weight = weights.begin() + static_cast<std::ptrdiff_t>(learned.lattice().width());
  for (const auto& ranking : prior.rankings()) lines.push_back(line_of(learned, *ranking, *weight++ / all));
  return lines;
}

std::string history_text(const tuner::LearnedCampaign& learned, space::Point point) {
  const auto& prior = learned.search->models().prior();
  const auto known =
      std::ranges::find_if(prior.past(), [&](const auto& each) { return std::ranges::equal(each.point, point); });
  if (known == prior.past().end()) return {};
  auto text = known->log_value ? seconds_text(std::exp(*known->log_value)) + " in an earlier campaign"
                               : std::string("failed in an earlier campaign");
  if (!prior.given_up().empty()) text += "; " + prior.given_up();
  return text;
}

}  // namespace nocturne::cli
