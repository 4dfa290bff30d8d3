#include "tuner/deploy/family_verification.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/family_looks.hpp"
#include "tuner/campaign/finals/side_by_side.hpp"

namespace nocturne::deploy {
namespace {

std::string comparison_words(const measure::Comparison& comparison) {
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %, {} pairs)", comparison.gain_percent, comparison.low_percent,
                     comparison.high_percent, comparison.pairs);
}

class Family {
 public:
  Family(const std::vector<FamilyMember*>& members, const FamilySettings& settings)
      : members_(members),
        settings_(settings),
        looks_(settings.pairs, std::max(settings.pairs, settings.most_pairs), settings.error),
        findings_(members.size()) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] != nullptr) open_.push_back(i);
    }
  }

  std::vector<FamilyFinding> run() {
    if (open_.empty()) return std::move(findings_);
    std::vector<int> numbers;
    for (const measure::Look& look : looks_.plan(open_.size())) numbers.push_back(look.pairs);
    std::int64_t round = 0;
    for (const int number : numbers) {
      for (; round < number && !open_.empty() && !stopped_; ++round) measure_round(round);
      if (open_.empty() || stopped_) break;
      judge_open();
    }
    if (stopped_) judge_open();  // what there is by now, as strictly as at the looks around it
    for (const std::size_t i : open_) leave_open(i);
    return std::move(findings_);
  }

 private:
  void measure_round(std::int64_t round) {
    std::mt19937_64 random(settings_.seed * 1000 + static_cast<std::uint64_t>(round));
    std::ranges::shuffle(open_, random);
    const auto members_of_round = open_;
    for (const std::size_t i : members_of_round) {
      if (settings_.interrupted()) {
        stop("interrupted");
        return;
      }
      if (!settings_.time_for(members_[i]->pair_time())) {
        stop("the time is over");
        return;
      }
      settings_.measuring(i, round + 1, open_.size());
      const auto done = members_[i]->measure_up_to(round + 1);
      if (done && *done) continue;
      if (settings_.interrupted()) {
        stop("interrupted");
        return;
      }
      // It leaves without a decision, so its share of the error stays where it is: the others are judged as before.
      findings_[i].because = done ? "pair after pair failed" : done.error();
      std::erase(open_, i);
      ++lost_;
    }
  }

  void stop(std::string why) {
    stopped_ = true;
    why_ = std::move(why);
  }

  /// Those who share the error.
  [[nodiscard]] std::size_t sharing() const { return open_.size() + lost_; }

  [[nodiscard]] double confidence_at(int pairs) {
    return measure::confidence_after(pairs, looks_.plan(sharing()), settings_.error / static_cast<double>(sharing()));
  }

  [[nodiscard]] std::optional<measure::Comparison> compare(std::size_t i) {
    const auto ratios = members_[i]->log_ratios();
    if (!ratios) findings_[i].because = ratios.error();
    if (!ratios || ratios->size() < 2) return std::nullopt;
    return measure::compare(*ratios, {.margin_percent = settings_.margin_percent,
                                      .confidence = confidence_at(static_cast<int>(ratios->size()))});
  }

  /// Whether the member is decided by now.
  bool decide(std::size_t i) {
    const auto comparison = compare(i);
    if (!comparison) return false;
    FamilyFinding& finding = findings_[i];
    finding.comparison = comparison;
    if (comparison->low_percent > 0) {
      finding.finding = Finding::Holds;
      finding.because = "faster than the default: " + comparison_words(*comparison);
      return true;
    }
    if (comparison->high_percent >= settings_.margin_percent) return false;
    finding.finding = Finding::DoesNotHold;
    finding.because = (comparison->verdict == measure::Verdict::Slower ? "slower than the default: "
                                                                       : "no faster than the default: ") +
                      comparison_words(*comparison);
    return true;
  }

  /// Each decision gives its share of the error to the others, who are then judged again.
  void judge_open() {
    for (bool again = true; again;) {
      again = false;
      for (const std::size_t i : std::vector(open_)) {
        if (!decide(i)) continue;
        std::erase(open_, i);
        again = !open_.empty();
      }
    }
  }

  void leave_open(std::size_t i) {
    FamilyFinding& finding = findings_[i];
    if (!finding.because.empty()) return;
    const std::string end = stopped_ ? why_ : fmt::format("{} pairs do not tell", settings_.most_pairs);
    finding.because = finding.comparison ? fmt::format("undecided, {}: {}", end, comparison_words(*finding.comparison))
                                         : fmt::format("{} before there were two pairs", end);
  }

  const std::vector<FamilyMember*>& members_;
  const FamilySettings& settings_;
  measure::FamilyLooks looks_;
  std::vector<FamilyFinding> findings_;
  std::vector<std::size_t> open_;
  std::size_t lost_ = 0;  ///< that left undecided
  bool stopped_ = false;
  std::string why_;
};

}  // namespace

std::vector<FamilyFinding> verify_family(const std::vector<FamilyMember*>& members, const FamilySettings& settings) {
  return Family(members, settings).run();
}

}  // namespace nocturne::deploy
