#pragma once

/// What the paper says, as data: published_results_of_paper.json, built into the program. Pure.

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/configuration.hpp"
#include "space/space.hpp"

namespace nocturne::report {

enum class PublishedKind {
  Faster,      ///< the candidate against the reference
  FirstEpoch,  ///< the first epoch of a process takes longer than its later ones
};

struct PublishedResult {
  std::string id;        ///< "xla-cpu"
  std::string title;     ///< a few words
  std::string sentence;  ///< what the paper says
  PublishedKind kind = PublishedKind::Faster;
  std::string network;                      ///< as in a campaign's workload
  std::string device;                       ///< cpu, gpu
  space::Configuration reference{};         ///< the settings that make a side; others are free, and equal on both
  space::Configuration candidate{};         ///< likewise
  std::string needs{};                      ///< what it takes to measure it beyond a campaign; empty: nothing
  std::optional<double> published_percent;  ///< 100 · (T(reference) / T(candidate) − 1); empty: only the direction
};

/// The text of published_results_of_paper.json.
[[nodiscard]] std::string_view published_results_of_paper_text();

/// The error names the published result and what is wrong with it.
[[nodiscard]] std::expected<std::vector<PublishedResult>, std::string> read_published_results(std::string_view text);

/// Whether a configuration is a side of a published result: it has the side's values, where 'none' also stands for a
/// parameter that is absent; and it trains on the published result's device (absent: the CPU).
[[nodiscard]] bool is_side(const PublishedResult& published, const space::Configuration& side,
                           const space::Configuration& configuration);

/// Whether the two differ in nothing but what the published result is about, and what that activates.
[[nodiscard]] bool differ_as_published(const PublishedResult& published, const space::Configuration& reference,
                                       const space::Configuration& candidate);

/// The side as words of a command line: "framework=tensorflow-1.14,graph_compiler=none". Where a space is given,
/// without those that are 'none' of parameters it does not have.
[[nodiscard]] std::string side_words(const space::Configuration& side, const space::Space* space = nullptr);

}  // namespace nocturne::report
