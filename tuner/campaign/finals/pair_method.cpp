#include "tuner/campaign/finals/pair_method.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

using measure::PairMethod;

constexpr double kUsableOfDevice = 0.9;

std::string too_many_threads(const space::Configuration& configuration, std::size_t cpus) {
  const space::Value* value = configuration.find("threads");
  const auto* threads = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  if (threads == nullptr) return "a side does not say how many threads it uses";
  if (*threads < 1 || *threads > static_cast<std::int64_t>(cpus / 2)) {
    return fmt::format("a side uses {} of {} CPUs", *threads, cpus);
  }
  return {};
}

const MethodCost* cheapest(const VerifySettings& verify, PairMethod method) {
  const MethodCost* found = nullptr;
  for (const MethodCost& each : verify.known_costs) {
    if (each.method != method) continue;
    if (found == nullptr || each.cost < found->cost) found = &each;
  }
  return found;
}

/// What telling the same difference takes instead of the campaign's own way; empty: not known.
std::string cost_words(const VerifySettings& verify, const MethodCost* instead) {
  const auto own = std::ranges::find_if(verify.known_costs, [&](const MethodCost& each) {
    return each.method == verify.method && each.estimator == verify.estimator;
  });
  if (own == verify.known_costs.end() || instead == nullptr || own->cost <= 0) return {};
  return fmt::format("; to tell the same takes {:.1f} times as long", instead->cost / own->cost);
}

PairMethodChoice fall_back(const VerifySettings& verify, PairMethod method, const std::string& why) {
  const MethodCost* known = cheapest(verify, method);
  const auto usual = method == PairMethod::Slices ? measure::StepEstimator::Paired : measure::StepEstimator::Median;
  return {.method = method,
          .estimator = known != nullptr ? known->estimator : usual,
          .instead = fmt::format("{} instead of {}, for {}{}", measure::to_text(method),
                                 measure::to_text(verify.method), why, cost_words(verify, known))};
}

}  // namespace

std::string not_together_because(const PairedSide& a, const PairedSide& b, std::int64_t memory_bytes) {
  constexpr double kGibibyte = 1 << 30;
  if (a.device_bytes && b.device_bytes) {
    const double both = static_cast<double>(*a.device_bytes + *b.device_bytes);
    const auto has =
        static_cast<double>(std::max(a.device_memory_bytes.value_or(0), b.device_memory_bytes.value_or(0)));
    if (has > 0 && both > kUsableOfDevice * has) {
      return fmt::format("together they need {:.1f} GiB of the GPU's {:.1f}", both / kGibibyte, has / kGibibyte);
    }
  }
  if (memory_bytes <= 0 || !a.peak_bytes || !b.peak_bytes) return {};
  if (*a.peak_bytes + *b.peak_bytes <= memory_bytes) return {};
  return fmt::format("together they need {:.1f} GiB of {:.1f}",
                     static_cast<double>(*a.peak_bytes + *b.peak_bytes) / kGibibyte,
                     static_cast<double>(memory_bytes) / kGibibyte);
}

std::string no_duet_because(const PairedSide& a, const PairedSide& b, std::size_t cpus, std::int64_t memory_bytes) {
  if (cpus < 2) return "there is one CPU";
  for (const PairedSide* side : {&a, &b}) {
    if (auto why = too_many_threads(side->configuration, cpus); !why.empty()) return why;
    if (side->contained) return "a side runs in a container";
    if (!side->launch.cpus.empty() || side->launch.set.contains("OMP_PLACES")) {
      return "a side is bound to CPUs of its own";
    }
  }
  if (a.device_bytes && b.device_bytes) return "both compute on the GPU";
  return not_together_because(a, b, memory_bytes);
}

PairMethodChoice choose_pair_method(const VerifySettings& verify, const PairedSide& a, const PairedSide& b,
                                    std::size_t cpus, std::int64_t memory_bytes) {
  if (verify.method != PairMethod::Sequential) {
    if (const auto why = not_together_because(a, b, memory_bytes); !why.empty()) {
      return fall_back(verify, PairMethod::Sequential, why);
    }
  }
  if (verify.method == PairMethod::Duet) {
    if (const auto why = no_duet_because(a, b, cpus, memory_bytes); !why.empty()) {
      return fall_back(verify, PairMethod::Slices, why);
    }
  }
  return {.method = verify.method, .estimator = verify.estimator, .instead = {}};
}

}  // namespace nocturne::tuner
