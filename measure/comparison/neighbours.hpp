#pragma once

/// Whether measurements on the parts of a machine disturb each other. Pure.
///
/// The same configuration is measured on a part while the others rest, and while all of them work; the log ratio of the
/// two times says what neighbours cost there. It is for the ratios to show that this is little: parts are shared only
/// where the upper end of their mean's interval is below kMostDisturbance, by Student's t (their scatter is the
/// machine's, known to nobody before). Looks repeat until that is shown, the opposite is, or there are kMostRatios.

#include <vector>

namespace nocturne::measure {

/// Log of the factor that neighbours may cost: 3 %, what a node may differ by before it is worth a remark.
inline constexpr double kMostDisturbance = 0.03;

class NeighbourTest {
 public:
  /// Of fewer the scatter is not known.
  static constexpr int kFewestRatios = 4;
  static constexpr int kMostRatios = 24;
  /// One-sided, at each look: neighbours that cost 3 % in truth are shared in one of twenty cases.
  static constexpr double kConfidence = 0.99;

  /// Log of the time among working neighbours over the time alone, of one part.
  void tell(double log_ratio) { ratios_.push_back(log_ratio); }

  struct Verdict {
    int ratios = 0;
    double mean = 0;  ///< of the log ratios
    double low = 0;   ///< ends of its interval; infinite where there are fewer than two
    double high = 0;
    bool decided = false;  ///< nothing more needs to be measured
    bool shared = false;   ///< all parts may measure at once
  };
  [[nodiscard]] Verdict verdict() const;

 private:
  std::vector<double> ratios_;
};

}  // namespace nocturne::measure
