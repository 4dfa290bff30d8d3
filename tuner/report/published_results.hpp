#pragma once

/// What the paper says, as data: published_results_of_paper.json, built into the program. Pure.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/configuration.hpp"
#include "space/space.hpp"
#include "tuner/report/published_side.hpp"

namespace nocturne::report {

enum class PublishedKind {
  Faster,       ///< the candidate against the reference; slower where the published size is below 0
  Same,         ///< the two differ by no more than the margin
  FarBehind,    ///< the candidate is slower, and by more than the margin
  FirstEpoch,   ///< the first epoch of a process takes longer than its later ones
  LaterEpochs,  ///< the later epochs of a process scatter by less than the margin
  Interaction,  ///< what the candidate gains depends on the network: `network` against `other_network`
};
[[nodiscard]] std::string_view to_text(PublishedKind kind);  ///< faster, same, far_behind, …
/// Whether it is about processes by themselves rather than two sides.
[[nodiscard]] constexpr bool is_of_epochs(PublishedKind kind) {
  return kind == PublishedKind::FirstEpoch || kind == PublishedKind::LaterEpochs;
}

/// An answer that was measured on another machine and came along.
struct ShippedAnswer {
  std::string machine;                                    ///< "AMD EPYC (Zen 4), two cores"
  double percent = 0, low_percent = 0, high_percent = 0;  ///< as Evidence has them
  std::int64_t repetitions = 0;                           ///< pairs; of epochs: processes
  std::string note;                                       ///< in what it is not what was published; may be empty
};

struct PublishedResult {
  std::string id;        ///< "xla-cpu"
  std::string group{};   ///< "Graph compilers": what it stands beside in a picture
  std::string title;     ///< a few words
  std::string sentence;  ///< what the paper says
  std::string place{};   ///< where in the paper: "abstract"; empty: not noted
  PublishedKind kind = PublishedKind::Faster;
  std::string network;          ///< as in a campaign's workload
  std::string other_network{};  ///< of an interaction
  std::string device;           ///< cpu, gpu
  PublishedSide reference{};
  PublishedSide candidate{};
  bool today = false;                       ///< not the paper's versions, but those of today
  std::string needs{};                      ///< what it takes to measure it beyond a campaign; empty: nothing
  std::string campaign{};                   ///< the example that can measure it; empty: the paper's on the CPU
  std::optional<double> published_percent;  ///< as the paper writes it; below 0: slower; empty: only the direction
  double margin_percent = 0;                ///< of those kinds that have one. Ours: the paper gives none
  std::vector<ShippedAnswer> shipped{};
};

/// What a percentage may mean.
enum class Reading {
  Speed,      ///< 54 % faster: 1.54 times the speed
  TimeSaved,  ///< 54 % faster: 54 % less time, 2.17 times the speed; 30 % slower: 30 % more time
};
[[nodiscard]] std::string_view to_text(Reading reading);  ///< speed, time saved
/// 100 · (T(reference) / T(candidate) − 1). Infinite where all time would be saved.
[[nodiscard]] double gain_percent(double published_percent, Reading reading);

/// The text of published_results_of_paper.json.
[[nodiscard]] std::string_view published_results_of_paper_text();

/// The error names the published result and what is wrong with it.
[[nodiscard]] std::expected<std::vector<PublishedResult>, std::string> read_published_results(std::string_view text);

/// Whether a configuration is that side of a published result, and trains on its device (absent: the CPU).
[[nodiscard]] bool is_side(const PublishedResult& published, const PublishedSide& side,
                           const space::Configuration& configuration, const FrameworkLabels& known);

/// Whether the two differ in nothing but what the published result is about, and what that activates.
[[nodiscard]] bool differ_as_published(const PublishedResult& published, const space::Configuration& reference,
                                       const space::Configuration& candidate, const FrameworkLabels& known);

}  // namespace nocturne::report
