#include "search/memory_guard.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace nocturne::search {
namespace {

constexpr std::size_t kSome = 128;           // trials that groups are chosen from: the latest
constexpr std::size_t kAtOnce = 8;           // out-of-memories up to which each one chooses groups anew
constexpr std::size_t kPeaksOfOneBatch = 8;  // of a group: more of the same say nothing new about a line
// So sure a line must have been for an out-of-memory to be none of its business.
constexpr double kAllButCertain = 0.999;
// One that was ended at its limit held this much of it: the last look may have missed the rest; and a limit of an
// earlier session may have been another one.
constexpr double kNearLimit = 0.8;

std::size_t axis_of(const space::Lattice& lattice, const std::string& name) {
  for (std::size_t i = 0; i < lattice.width(); ++i)
    if (lattice.parameter(i).name == name) return i;
  return lattice.width();
}

bool counts_examples(const space::Lattice::Axis& axis) {
  return !axis.numbers.empty() && std::ranges::all_of(axis.numbers, [](double each) { return each >= 1; });
}

}  // namespace

MemoryGuard::MemoryGuard(const space::Lattice& lattice, std::string batch, std::int64_t limit_bytes)
    : lattice_(lattice), batch_(std::move(batch)), limit_(static_cast<double>(limit_bytes)), host_limit_(limit_) {
  const auto axis = batch_.empty() ? lattice.width() : axis_of(lattice, batch_);
  if (axis < lattice.width() && counts_examples(lattice.axis(axis))) axis_ = axis;
}

void MemoryGuard::tell(const space::Trial& trial) {
  if (!models() || trial.outcome == space::Outcome::Killed) return;
  if (trial.device_bytes.value_or(0) > 0) look_at_device(trial);
  auto known = known_of(trial);
  if (!known) return;
  if (!known->explained) {  // of the host's memory, while the device's is modelled
    unexplained_.push_back(std::move(known->configuration));
    return;
  }
  const auto [place, is_new] = place_.try_emplace(trial.configuration.identity(), known_.size());
  stale_ = stale_ || known->exceeded || !is_new;
  if (is_new) {
    known_.push_back(*std::move(known));
  } else {
    known->handed_on = known_[place->second].handed_on;
    known->group = group(known->point);
    known_[place->second] = *std::move(known);
  }
}

std::optional<MemoryGuard::KnownDemand> MemoryGuard::known_of(const space::Trial& trial) const {
  auto point = lattice_.point_of(trial.configuration);
  const auto batch = trial.configuration.integer_of(batch_);
  if (!point || !batch) return std::nullopt;
  const auto host = static_cast<double>(trial.peak_bytes.value_or(0));
  KnownDemand known{.configuration = trial.configuration, .point = *std::move(point), .batch = *batch};
  known.bytes = on_device_ ? static_cast<double>(trial.device_bytes.value_or(0)) : host;
  known.exceeded = trial.outcome == space::Outcome::OutOfMemory;
  if (!known.exceeded)
    return trial.outcome == space::Outcome::Ok && known.bytes > 0 ? std::optional(std::move(known)) : std::nullopt;
  if (!guards()) return std::nullopt;
  if (on_device_) {
    // An allocator refuses what is too much at once: what it had given before is no measure of what was needed.
    known.explained = known.bytes > 0 || host_limit_ <= 0 || host < kNearLimit * host_limit_;
    known.bytes = std::max(known.bytes, limit_);
  } else if (known.bytes <= 0 || known.bytes >= kNearLimit * limit_) {
    known.bytes = std::max(known.bytes, limit_);
  }
  return known;
}

void MemoryGuard::look_at_device(const space::Trial& trial) {
  // The first trial with memory of a GPU: from here on that is what runs out, and what is known of the host's is
  // another quantity.
  if (!on_device_) {
    on_device_ = true;
    limit_ = 0;
    known_.clear();
    place_.clear();
    learnt_ = chosen_for_ = 0;
    stale_ = true;
  }
  const auto has = static_cast<double>(trial.device_memory_bytes.value_or(0));
  if (has <= limit_) return;
  limit_ = has;
  stale_ = true;
}

std::vector<space::Configuration> MemoryGuard::take_unexplained() {
  learn();
  return std::exchange(unexplained_, {});
}

/// By the peaks alone: one that ran out of memory says less than any that did not.
bool MemoryGuard::choose_groups() {
  // Choosing groups fits every grouping: done when there is a quarter more to choose by.
  const bool grown = known_.size() >= chosen_for_ + std::max<std::size_t>(1, chosen_for_ / 4);
  // This is asked at each trial: they are counted only where it matters.
  const auto few_exceeded = [&] {
    return std::cmp_less_equal(std::ranges::count_if(known_, &KnownDemand::exceeded), kAtOnce);
  };
  if (!grown && !(stale_ && few_exceeded())) return false;
  chosen_for_ = known_.size();
  std::vector<model::MemoryObservation> some;
  for (auto i = known_.size(); i-- > 0 && some.size() < kSome;) {
    const auto& each = known_[i];
    if (each.exceeded) continue;
    some.push_back({.configuration = each.configuration, .batch = each.batch, .peak_bytes = each.bytes});
  }
  names_ = model::choose_grouping(some, batch_);
  parameters_.clear();
  for (const auto& name : names_) parameters_.push_back(axis_of(lattice_, name));
  for (auto& each : known_) each.group = group(each.point);
  return true;
}

void MemoryGuard::add_peak(const KnownDemand& known) {
  if (++peaks_told_[{known.group, known.batch}] > kPeaksOfOneBatch) return;
  model_.tell(known.group, known.batch, known.bytes);
  pooled_.tell("", known.batch, known.bytes);
  for (std::size_t i = 0; i < by_value_.size(); ++i)
    by_value_[i].tell(std::to_string(known.point[i]), known.batch, known.bytes);
}

void MemoryGuard::build() {
  const auto exceeded = static_cast<std::size_t>(std::ranges::count_if(known_, &KnownDemand::exceeded));
  const bool settled = known_.size() - exceeded >= kSettled;
  model_ = {};
  pooled_ = {};
  by_value_.assign(settled ? 0 : lattice_.width(), {});
  peaks_told_.clear();
  met_.clear();
  for (const auto& each : known_)
    if (!each.exceeded) add_peak(each);
  std::map<std::pair<std::string, std::int64_t>, std::vector<KnownDemand*>> cells;  // that ran out of memory
  for (auto& each : known_) {
    if (!each.exceeded) continue;
    cells[{each.group, each.batch}].push_back(&each);
    ++met_[each.group];
  }
  std::map<std::string, std::vector<KnownDemand*>> surprising;
  for (auto& [cell, members] : cells) {
    const double bytes = members.front()->bytes;
    const bool fitted = model_.has_fitted(cell.first, cell.second, bytes);
    for (auto* each : members) each->explained = !fitted;
    if (!fitted && settled && model_.fits(cell.first, cell.second, bytes) >= kAllButCertain) {
      auto& others = surprising[cell.first];
      others.insert(others.end(), members.begin(), members.end());
    }
  }
  for (const auto& [name, members] : surprising) {
    // One alone is likelier another reason (a neighbour on the machine) than a rule; two in a group are a rule.
    if (members.size() == 1) members.front()->explained = false;
  }
  for (const auto& [cell, members] : cells) {
    if (!members.front()->explained) continue;
    for (std::size_t i = 0; i < std::min(members.size(), kPeaksOfOneBatch); ++i) {
      model_.tell_out_of_memory(cell.first, cell.second, members[i]->bytes);
      pooled_.tell_out_of_memory("", cell.second, members[i]->bytes);
    }
  }
}

void MemoryGuard::learn() {
  if (learnt_ == known_.size() && !stale_) return;
  judged_.clear();
  cautious_.clear();
  if (choose_groups() || stale_ || !by_value_.empty()) {
    build();
    for (auto& each : known_) {
      if (!each.exceeded || each.explained || each.handed_on) continue;
      each.handed_on = true;
      unexplained_.push_back(each.configuration);
    }
  } else {
    for (; learnt_ < known_.size(); ++learnt_) {
      known_[learnt_].group = group(known_[learnt_].point);
      add_peak(known_[learnt_]);
    }
  }
  learnt_ = known_.size();
  stale_ = false;
}

std::string MemoryGuard::group(space::Point point) const {
  std::string text;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto level = point[parameters_[i]];
    text += (text.empty() ? "" : " ") + names_[i] + "=" +
            (level == space::kNoLevel ? "-" : space::to_text(lattice_.axis(parameters_[i]).values[level]));
  }
  return text;
}

std::optional<std::int64_t> MemoryGuard::batch_of(space::Point point) const {
  if (!axis_ || point[*axis_] == space::kNoLevel) return std::nullopt;
  return std::llround(lattice_.axis(*axis_).numbers[point[*axis_]]);
}

double MemoryGuard::judge(const std::string& group, std::int64_t batch) const {
  if (model_.need(group, batch)) return model_.fits(group, batch, limit_);
  // A stranger: what all others need says something, but not for certain.
  return pooled_.need("", batch) ? (kUnknown + pooled_.fits("", batch, limit_)) / 2 : kUnknown;
}

double MemoryGuard::judge_cautiously(space::Point point, std::int64_t batch) {
  double least = 1;
  for (std::size_t i = 0; i < by_value_.size(); ++i) {
    if (i == *axis_ || lattice_.axis(i).ordered || lattice_.axis(i).levels < 2) continue;
    const auto key =
        (static_cast<std::uint64_t>(i) << 32) | (static_cast<std::uint64_t>(point[i]) << 16) | point[*axis_];
    const auto [known, is_new] = cautious_.try_emplace(key);
    if (is_new) known->second = by_value_[i].fits(std::to_string(point[i]), batch, limit_);
    least = std::min(least, known->second);
  }
  return std::max(least, kRisk[0]);  // alone it rules out nothing
}

double MemoryGuard::fits(space::Point point) {
  const auto batch = batch_of(point);
  if (!guards() || !batch || known_.empty()) return 1;
  learn();
  key_.assign(1, point[*axis_]);
  for (const auto p : parameters_) key_.push_back(point[p]);
  const auto [known, is_new] = judged_.try_emplace(space::hash_of(key_));
  if (is_new) {
    const auto name = group(point);
    const auto met = met_.find(name);
    known->second = {.fits = judge(name, *batch),
                     .risk = kRisk[met == met_.end() ? 0 : std::min(met->second, std::size(kRisk) - 1)]};
  }
  double fits = known->second.fits;
  if (!by_value_.empty() && fits > 0) fits = std::min(fits, judge_cautiously(point, *batch));
  // Below the risk that is taken it counts as never; above, expected improvement weighs it.
  return fits < known->second.risk ? 0 : fits;
}

std::optional<model::MemoryModel::Need> MemoryGuard::need(space::Point point) {
  const auto batch = batch_of(point);
  if (!batch) return std::nullopt;
  learn();
  return model_.need(group(point), *batch);
}

const model::MemoryModel& MemoryGuard::lines() {
  learn();
  return model_;
}

}  // namespace nocturne::search
