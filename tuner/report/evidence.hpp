#pragma once

/// What the database holds for and against a published result, of this machine alone. Measures nothing.

#include <cstdint>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "tuner/report/published_results.hpp"

namespace nocturne::report {

enum class Grade {
  Pairs,   ///< both alive in turns
  Trials,  ///< each measured by itself: not interleaved
  Epochs,  ///< whole epochs of single processes
};
[[nodiscard]] std::string_view to_text(Grade grade);  ///< pairs, trials, epochs

struct Evidence {
  Grade grade = Grade::Pairs;
  double percent = 0;  ///< 100 · (T(reference) / T(candidate) − 1); of first epochs: what they take longer
  double low_percent = 0, high_percent = 0;
  std::int64_t repetitions = 0;  ///< pairs; processes of both trials; runs
  double epochs = 0;             ///< the horizon; of first epochs: 1
  std::string campaign;
  std::int64_t generation = 1;
};

/// The best there is: pairs before trials, more before fewer. Both sides are of one campaign with the published
/// result's network, measured on a machine with this fingerprint key, and differ as published. Empty: nothing.
[[nodiscard]] std::optional<Evidence> find_evidence(const db::Store& store, const PublishedResult& published,
                                                    const std::string& fingerprint_key);

/// Why a side of the published result did not run when it was tried here: "tensorflow-1.14: unsupported: …"; empty: it
/// was not tried, or ran.
[[nodiscard]] std::string failure_of(const db::Store& store, const PublishedResult& published,
                                     const std::string& fingerprint_key);

}  // namespace nocturne::report
