#pragma once

/// All trials of a campaign as one document, in which what many of them have in common stands once: the settings of the
/// default, each setting that differs from it, values that are the same in all. Pure.

#include <nlohmann/json.hpp>

#include "tuner/report/html/report_data.hpp"

namespace nocturne::report {

/// Keys as tuner/cli/schemas/report-trials.json explains them; numbers with six digits. The configuration of a trial is
/// `default`, with its settings laid over it, and without what is inactive in it.
[[nodiscard]] nlohmann::json trials_document(const ReportData& data);

}  // namespace nocturne::report
