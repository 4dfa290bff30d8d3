#include "measure/comparison/sequential_comparison.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <utility>

namespace nocturne::measure {
namespace {

constexpr int kFewestJudged = 2;  // pairs that have an interval

ComparisonPolicy made_consistent(ComparisonPolicy policy) {
  policy.most_pairs = std::max(policy.most_pairs, policy.pairs);
  return policy;
}

/// Planning costs milliseconds. What is remembered is a function of its arguments.
const std::vector<Look>& remembered_looks(int first, int most, double error) {
  thread_local std::map<std::tuple<int, int, double>, std::vector<Look>> known;
  auto& looks = known[{first, most, error}];
  if (looks.empty()) looks = plan_looks(first, most, error);
  return looks;
}

}  // namespace

SequentialComparison::SequentialComparison(std::vector<std::vector<double>> known, const ComparisonPolicy& policy,
                                           double error, std::uint64_t seed,
                                           std::vector<std::vector<std::string>> nodes)
    : policy_(made_consistent(policy)),
      error_(error),
      seed_(seed),
      failures_(known.size(), 0),
      losses_(known.size(), 0) {
  assert(nodes.empty() || nodes.size() == known.size());
  for (auto& ratios : known) members_.push_back({.log_ratios = std::move(ratios)});
  for (std::size_t i = 0; i < nodes.size(); ++i) members_[i].nodes = std::move(nodes[i]);
  if (policy_.most_pairs >= kFewestJudged && !members_.empty())
    for (const Look& look : plan(members_.size())) looks_.push_back(look.pairs);
  advance();
}

std::optional<std::size_t> SequentialComparison::next() const {
  return over_ ? std::nullopt : std::optional(round_.front());
}

std::optional<std::size_t> SequentialComparison::next_beside(std::span<const int> in_flight) const {
  assert(in_flight.size() == members_.size());
  if (over_) return std::nullopt;
  const auto begun = [&](std::size_t i) { return std::ssize(members_[i].log_ratios) + in_flight[i]; };
  // Of this round first, in its order.
  for (const std::size_t i : round_)
    if (begun(i) < goal_) return i;
  std::optional<std::size_t> behind;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].state != MemberState::Open || begun(i) >= next_look()) continue;
    if (!behind || begun(i) < begun(*behind)) behind = i;
  }
  return behind;
}

void SequentialComparison::tell(std::size_t member, double log_ratio, std::string node) {
  ComparisonMember& told = members_[member];
  if (!node.empty() || !told.nodes.empty()) {
    told.nodes.resize(told.log_ratios.size());
    told.nodes.push_back(std::move(node));
  }
  told.log_ratios.push_back(log_ratio);
  if (!over_) advance();
}

void SequentialComparison::tell(std::size_t member, PairFailure failure) {
  if (over_ || members_[member].state != MemberState::Open) return;
  const bool side = failure == PairFailure::Side;
  const int times = ++(side ? failures_ : losses_)[member];
  if (times < (side ? kMostFailures : kMostLosses)) return;
  leave(member, side ? MemberState::Failed : MemberState::Lost);
  advance();
}

void SequentialComparison::stop() {
  if (std::exchange(over_, true)) return;
  judge_open(std::numeric_limits<std::size_t>::max());
}

std::size_t SequentialComparison::open() const {
  return static_cast<std::size_t>(std::ranges::count(members_, MemberState::Open, &ComparisonMember::state));
}

int SequentialComparison::next_look() const {
  const auto next = std::ranges::find_if(looks_, [&](int pairs) { return pairs >= goal_; });
  return next == looks_.end() ? policy_.most_pairs : *next;
}

const std::vector<Look>& SequentialComparison::plan(std::size_t sharing) const {
  return remembered_looks(std::max(policy_.pairs, kFewestJudged), policy_.most_pairs,
                          error_ / static_cast<double>(sharing));
}

void SequentialComparison::advance() {
  for (;;) {
    std::erase_if(round_, [&](std::size_t i) {
      return members_[i].state != MemberState::Open || std::ssize(members_[i].log_ratios) >= goal_;
    });
    if (!round_.empty()) return;
    if (std::ranges::find(looks_, goal_) != looks_.end()) {
      const bool last = goal_ == looks_.back();
      judge_open(last ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(goal_));
      std::ranges::fill(failures_, 0);
      std::ranges::fill(losses_, 0);
    }
    if (goal_ >= policy_.most_pairs || open() == 0) {
      over_ = true;
      return;
    }
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (members_[i].state == MemberState::Open) round_.push_back(i);
    std::mt19937_64 random(seed_ * 1000 + static_cast<std::uint64_t>(goal_++));
    std::ranges::shuffle(round_, random);
  }
}

void SequentialComparison::leave(std::size_t member, MemberState state) {
  if (!judge(member)) members_[member].state = state;
}

std::optional<Comparison> SequentialComparison::so_far(std::size_t member) const {
  const ComparisonMember& asked = members_[member];
  const auto pairs = std::ssize(asked.log_ratios);
  if (pairs < kFewestJudged) return std::nullopt;
  return asked.state == MemberState::Decided ? asked.comparison : compared(asked, confidence_now(pairs));
}

double SequentialComparison::confidence_now(std::int64_t pairs) const {
  const auto decided =
      static_cast<std::size_t>(std::ranges::count(members_, MemberState::Decided, &ComparisonMember::state));
  const std::size_t sharing = members_.size() - decided;
  return confidence_after(pairs, plan(sharing), error_ / static_cast<double>(sharing));
}

Comparison SequentialComparison::compared(const ComparisonMember& member, double confidence) const {
  return compare(member.log_ratios,
                 {.margin_percent = policy_.margin_percent, .confidence = confidence, .nodes = member.nodes});
}

bool SequentialComparison::judge(std::size_t member) {
  ComparisonMember& judged = members_[member];
  const auto pairs = std::ssize(judged.log_ratios);
  if (pairs < kFewestJudged) return false;
  judged.confidence = confidence_now(pairs);
  judged.comparison = compared(judged, judged.confidence);
  if (judged.comparison->verdict == Verdict::Undecided) return false;
  judged.state = MemberState::Decided;
  return true;
}

void SequentialComparison::judge_open(std::size_t most) {
  for (bool again = true; std::exchange(again, false);) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].state != MemberState::Open || members_[i].log_ratios.size() > most) continue;
      again = judge(i) || again;
    }
  }
}

}  // namespace nocturne::measure
