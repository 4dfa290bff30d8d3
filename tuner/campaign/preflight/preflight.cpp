#include "tuner/campaign/preflight/preflight.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "space/lattice.hpp"
#include "space/random.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/executor/carry_out.hpp"

namespace nocturne::tuner {
namespace {

using space::Level;

/// So many combinations of values are walked through; of more, only those that cover all values are looked for.
constexpr std::size_t kWalkedStacks = 4096;
constexpr std::uint64_t kDraws = 1024;
/// So many of these lend their later parameters to software stacks that the default's do not fit.
constexpr std::size_t kLenders = 64;
/// Batch lists longer than this are gone down in halves.
constexpr std::size_t kLongLadder = 16;

/// A point on the lattice. Its software stack is its levels of the prepared parameters.
using LevelVector = std::vector<Level>;

class StackFinder {
 public:
  explicit StackFinder(const space::Space& space) : lattice_(space) {
    default_ = lattice_.point_of(space.default_configuration()).value();
    const std::string batch = roles_of(space).batch;
    for (std::size_t i = 0; i < lattice_.width(); ++i) {
      const space::Parameter& parameter = lattice_.parameter(i);
      if (parameter.stage <= space::Stage::Build)
        prepared_.push_back(i);
      else if (parameter.name == batch && !lattice_.axis(i).numbers.empty())
        batch_ = i;
    }
  }

  /// False: there are too many to walk through.
  bool find() {
    offer(default_);
    const bool walked = combinations() <= kWalkedStacks;
    if (walked) walk(default_);
    for (const std::size_t i : prepared_) {
      for (std::size_t level = 0; level < lattice_.axis(i).levels; ++level) {
        LevelVector changed = default_;
        changed[i] = static_cast<Level>(level);
        offer(std::move(changed));
      }
    }
    std::vector<LevelVector> drawn;
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      LevelVector point(lattice_.width());
      // The same points each time: a session that goes on must find the same stacks in the same order.
      space::Random random(1, draw);
      if (!lattice_.sample(random, point)) break;
      offer(point);
      if (drawn.size() < kLenders) drawn.push_back(std::move(point));
    }
    if (!walked) return false;
    for (const LevelVector& lender : drawn) {
      if (missing_.empty()) break;
      walk(lender);
    }
    return true;
  }

  [[nodiscard]] std::size_t size() const { return stacks_.size(); }

  /// The software stacks of which each has a value that none before has; `all`: then the others.
  [[nodiscard]] std::vector<const LevelVector*> in_order(bool all) const {
    std::vector<const LevelVector*> order, rest;
    for (const auto& [stack, point] : stacks_) rest.push_back(&point);
    std::set<std::pair<std::size_t, Level>> covered;
    const auto gain = [&](const LevelVector& point) {
      return std::ranges::count_if(prepared_, [&](std::size_t i) { return !covered.contains({i, point[i]}); });
    };
    const auto take = [&](auto place) {
      for (const std::size_t i : prepared_) covered.emplace(i, (**place)[i]);
      order.push_back(*place);
      rest.erase(place);
    };
    take(std::ranges::find(rest, stacks_.at(stack_of(default_)), [](const LevelVector* each) { return *each; }));
    while (!rest.empty()) {
      const auto best = std::ranges::max_element(rest, {}, [&](const LevelVector* each) { return gain(*each); });
      // From here on no stack shows a value that was not seen: what follows is only combinations.
      if (gain(**best) == 0) break;
      take(best);
    }
    if (all) order.insert(order.end(), rest.begin(), rest.end());
    return order;
  }

  [[nodiscard]] PreflightStack describe(const LevelVector& point) {
    PreflightStack stack;
    const space::Configuration whole = lattice_.configuration(point);
    for (const std::size_t i : prepared_) {
      const std::string& name = lattice_.parameter(i).name;
      if (const space::Value* value = whole.find(name)) stack.values.set(name, *value);
    }
    stack.ladder = ladder(point);
    if (stack.ladder.empty()) stack.ladder.push_back(whole);
    return stack;
  }

 private:
  [[nodiscard]] std::size_t combinations() const {
    std::size_t product = 1;
    for (const std::size_t i : prepared_) {
      product *= lattice_.axis(i).levels;
      if (product > kWalkedStacks) break;
    }
    return product;
  }

  [[nodiscard]] LevelVector stack_of(const LevelVector& point) const {
    LevelVector stack;
    for (const std::size_t i : prepared_) stack.push_back(point[i]);
    return stack;
  }

  /// Notes the software stack of a point, if it is valid with what it activates and deactivates.
  bool offer(LevelVector point) {
    const bool valid = lattice_.settle(point);
    LevelVector stack = stack_of(point);
    if (!valid) {
      if (!stacks_.contains(stack)) missing_.insert(std::move(stack));
      return false;
    }
    missing_.erase(stack);
    stacks_.try_emplace(std::move(stack), std::move(point));
    return true;
  }

  /// Offers every combination of prepared values over what `base` has of the others.
  void walk(const LevelVector& base) {
    LevelVector point = base;
    for (const std::size_t i : prepared_) point[i] = 0;
    for (;;) {
      offer(point);
      std::size_t digit = 0;
      while (digit < prepared_.size() && ++point[prepared_[digit]] == lattice_.axis(prepared_[digit]).levels)
        point[prepared_[digit++]] = 0;
      if (digit == prepared_.size()) return;
    }
  }

  /// Valid configurations of the software stack, by batch, the largest first.
  [[nodiscard]] std::vector<space::Configuration> ladder(const LevelVector& point) {
    std::vector<space::Configuration> steps;
    if (!batch_ || point[*batch_] == space::kNoLevel) return steps;
    const space::Lattice::Axis& axis = lattice_.axis(*batch_);
    std::vector<Level> levels(axis.levels);
    std::iota(levels.begin(), levels.end(), Level{0});
    std::ranges::sort(levels, std::ranges::greater(), [&](Level level) { return axis.numbers[level]; });
    std::optional<double> last;
    for (const Level level : levels) {
      // A long list in single steps would run out of memory a dozen times before it fits.
      if (last && levels.size() > kLongLadder && axis.numbers[level] > *last / 2) continue;
      LevelVector changed = point;
      changed[*batch_] = level;
      if (!lattice_.settle(changed) || stack_of(changed) != stack_of(point)) continue;
      last = axis.numbers[level];
      steps.push_back(lattice_.configuration(changed));
    }
    return steps;
  }

  space::Lattice lattice_;
  LevelVector default_;
  std::vector<std::size_t> prepared_;
  std::optional<std::size_t> batch_;
  std::map<LevelVector, LevelVector> stacks_;  // software stack to the first valid point that has it
  std::set<LevelVector> missing_;              // software stacks without a valid point so far
};

}  // namespace

std::string to_text(const PreflightReport& report) {
  std::string text = fmt::format("The preflight: {} of {} software stack{} passed",
                                 report.stacks - report.failed_stacks, report.stacks, report.stacks == 1 ? "" : "s");
  if (report.failed_stacks == 1) text += ", 1 failed";
  if (report.failed_stacks > 1) text += fmt::format(", {} failed", report.failed_stacks);
  if (!report.default_goes)
    text += "; the default's own software stack failed, so that there will be nothing to compare with";
  if (report.not_tried > 0) text += fmt::format("; {} were not tried for want of time", report.not_tried);
  if (!report.left_out.empty()) text += "; " + report.left_out;
  return text;
}

PreflightReport Preflight::run(const Options& options) {
  const PreflightStacks stacks = preflight_stacks(session_.spec.space);
  const auto stored = session_.store.preflights(session_.campaign);
  std::map<std::string, space::Outcome> known;
  for (const db::PreflightRecord& record : stored) known[record.stack.canonical()] = record.outcome;

  const auto began = session_.clock.steady();
  const auto count = static_cast<std::int64_t>(stacks.stacks.size());
  PreflightReport report{.left_out = stacks.left_out};
  for (std::int64_t index = 0; index < count; ++index) {
    const PreflightStack& stack = stacks.stacks[static_cast<std::size_t>(index)];
    const auto before = known.find(stack.values.canonical());
    const bool settled = before != known.end() && (before->second == space::Outcome::Ok || !options.again);
    space::Outcome outcome = settled ? before->second : space::Outcome::Ok;
    if (!settled) {
      if (session_.interruption.requested()) {
        report.interrupted = true;
        return report;
      }
      if (options.limit && session_.clock.steady() - began > *options.limit) {
        ++report.not_tried;
        continue;
      }
      session_.observer.preflight(index, count, stack.values);
      const PreparationOrder order{.stack = stack.values,
                                   .ladder = stack.ladder,
                                   .batch = roles_of(session_.spec.space).batch,
                                   .steps = kPreflightSteps};
      auto answer = carry_out(order, session_.workplace());
      // A machine that slept in between has not failed the stack.
      while (answer.end == OrderEnd::Suspended) answer = carry_out(order, session_.workplace());
      for (const db::BuildRecord& build : answer.builds) session_.store.save_build(build);
      if (answer.end != OrderEnd::Finished) {
        report.interrupted = true;
        return report;
      }
      outcome = answer.record.outcome;
      session_.store.save_preflight(session_.campaign, answer.record);
      session_.observer.preflighted(index, count, answer.record);
    }
    ++report.stacks;
    if (outcome == space::Outcome::Ok) continue;
    ++report.failed_stacks;
    // The default's stack comes first.
    if (index == 0) report.default_goes = false;
  }
  return report;
}

PreflightStacks preflight_stacks(const space::Space& space, std::size_t most) {
  StackFinder finder(space);
  const bool all_known = finder.find();
  const bool all = all_known && finder.size() <= most;
  std::vector<const LevelVector*> chosen = finder.in_order(all);
  PreflightStacks result;
  if (!all) {
    const bool capped = chosen.size() > most;
    if (capped) chosen.resize(most);
    result.left_out = fmt::format(
        "of {}{} software stacks (sets of values of the environment and build parameters) {} are tried in the "
        "preflight, {}",
        all_known ? "" : "more than ", all_known ? finder.size() : kWalkedStacks, chosen.size(),
        capped ? "which leaves values out" : "in which each value of each parameter occurs");
  }
  for (const LevelVector* point : chosen) result.stacks.push_back(finder.describe(*point));
  return result;
}

}  // namespace nocturne::tuner
