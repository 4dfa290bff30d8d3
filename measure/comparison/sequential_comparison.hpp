#pragma once

/// One sequential test over one or several comparisons: which pair is measured next, when the pairs are judged, and how
/// strictly. Pure: it knows no process and no clock; whoever measures asks next() and answers with tell().
///
/// Pairs come in rounds: one of each open member, in an order of the round's own, so that no member has a quieter hour
/// than the others. After a planned number of rounds (planned_looks.hpp) all open members are judged; who is decided is
/// measured no further. Where several pairs can be measured at once, each on a node of its own, next() is told which
/// are under way and goes on up to the next look, and ratios are told as they come.
///
/// The error is that of the whole family: the probability that any member is judged wrongly, at any look. Who looks at
/// ten comparisons at 5 % each finds something wrong with a good one in four of ten cases. Holm's step-down procedure
/// (Scand. J. Statist. 6, 1979) shares the error among the members that are still open: with m of them each has
/// error / m, and the share of a member that is decided goes to the others, who are judged again at once. That holds
/// for group sequential tests, too, where each share has its own planned looks and a member is judged by the boundary
/// of the look at which it stands (Ye, Li, Liu & Yao, Statist. Med. 32, 2013, section 2). A member that leaves without
/// a decision keeps its share.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/comparison/comparison.hpp"
#include "measure/comparison/planned_looks.hpp"

namespace nocturne::measure {

/// Why a pair gave no ratio.
enum class PairFailure {
  Side,     ///< one of the two configurations did not end well
  Outside,  ///< another hand killed it, or the machine could not be had: no word about the configurations
};

/// A machine has bad moments; a configuration that fails as often as this is no candidate.
inline constexpr int kMostFailures = 3;
/// Pairs ended from outside as often as this are no accident: the member is given up.
inline constexpr int kMostLosses = 10;

enum class MemberState {
  Open,     ///< not decided; after the end: the pairs do not tell
  Decided,  ///< FASTER, SLOWER or SAME
  Failed,   ///< left: pair after pair failed
  Lost,     ///< left: pair after pair was lost to other hands
};

struct ComparisonMember {
  std::vector<double> log_ratios{};  ///< ln(T_baseline / T_candidate) of each pair, in the order measured
  MemberState state = MemberState::Open;
  /// As it was judged last, with that interval; empty: fewer than two pairs, or no look yet.
  std::optional<Comparison> comparison{};
  double confidence = 0;             ///< confidence of that interval alone, 0 to 1
  std::vector<std::string> nodes{};  ///< name of the node of each pair; empty: one machine measured all
};

/// Not thread-safe.
class SequentialComparison {
 public:
  /// `known`: of each member, the log ratios that were measured before, in their order. Looks that they have gone past
  /// are not taken again. `seed`: of the order within rounds. `nodes`: of each member, as in ComparisonMember; none:
  /// one machine. REQUIRES: 0 < error < 1.
  explicit SequentialComparison(std::vector<std::vector<double>> known, const ComparisonPolicy& policy = {},
                                double error = kComparisonError, std::uint64_t seed = 1,
                                std::vector<std::vector<std::string>> nodes = {});

  /// The member whose pair is to be measured now, the same until it is told; empty: the comparison is over.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// The log ratio of the pair that next() named. REQUIRES: next() names one.
  void tell(double log_ratio) { tell(round_.front(), log_ratio); }
  /// That pair failed and is asked for again. Three times between two looks, or ten times where nothing but other hands
  /// was to blame, and the member leaves; what there is of it is judged. REQUIRES: next() names one.
  void tell(PairFailure failure) { tell(round_.front(), failure); }

  // Several at once.
  /// The member of one more pair beside those under way, `in_flight` of each member; none under way: as next(). Empty:
  /// none may be begun before some of these are told, or the comparison is over.
  [[nodiscard]] std::optional<std::size_t> next_beside(std::span<const int> in_flight) const;
  /// The log ratio of a pair of this member, measured on this node; empty: here. One that has left, or is decided, is
  /// judged no more.
  void tell(std::size_t member, double log_ratio, std::string node = {});
  void tell(std::size_t member, PairFailure failure);
  /// No pair is measured any more. Who is open is judged by the pairs there are, as strictly as at the stricter of the
  /// looks around that number.
  void stop();

  [[nodiscard]] const std::vector<ComparisonMember>& members() const { return members_; }
  /// What is known of a member now, as strictly as stop() would judge it: before a look, too, and wider than an
  /// interval of these pairs alone. Empty: fewer than two pairs.
  [[nodiscard]] std::optional<Comparison> so_far(std::size_t member) const;
  /// Members that are measured on.
  [[nodiscard]] std::size_t open() const;
  /// Pairs of each open member at which it is judged next.
  [[nodiscard]] int next_look() const;

 private:
  /// The looks of each member while so many share the error; always at the same numbers of pairs.
  [[nodiscard]] const std::vector<Look>& plan(std::size_t sharing) const;
  /// Confidence of the interval of an open member with so many pairs, by the error that is left for it.
  [[nodiscard]] double confidence_now(std::int64_t pairs) const;
  [[nodiscard]] Comparison compared(const ComparisonMember& member, double confidence) const;
  void advance();
  void leave(std::size_t member, MemberState state);
  /// Whether it is decided by its pairs.
  bool judge(std::size_t member);
  /// Judges the open members that have `most` pairs or fewer. Each decision gives its share of the error to the others,
  /// who are then judged again.
  void judge_open(std::size_t most);

  ComparisonPolicy policy_;
  double error_;
  std::uint64_t seed_;
  std::vector<ComparisonMember> members_;
  std::vector<int> looks_;              ///< numbers of pairs; empty: too few pairs to judge
  std::vector<std::size_t> round_;      ///< members whose pair of this round is missing, the next one first
  int goal_ = 0;                        ///< pairs of each open member after this round
  std::vector<int> failures_, losses_;  ///< each member's, since the last look
  bool over_ = false;
};

}  // namespace nocturne::measure
