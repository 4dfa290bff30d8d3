#pragma once

/// All that the page of a campaign shows, read from its database once; and the page's sections, made of that alone.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/report/html/charts/charts.hpp"
#include "tuner/report/html/page.hpp"

namespace nocturne::report {

/// At which moment the campaign is shown.
struct Moment {
  std::int64_t now_unix_ns = 0;
  bool running = false;  ///< a session measures
};

struct ReportData {
  tuner::Answer answer;
  tuner::Expectations expectations;  ///< empty while it runs: fitting the model takes time from the search
  Moment moment;
  tuner::DefaultSettings defaults;
  std::vector<db::StoredTrial> trials;  ///< all, by number
  std::vector<db::RunSpan> runs;
  std::vector<db::StoredComparison> comparisons;
  std::vector<db::PreflightRecord> preflights;
  std::vector<db::EventRecord> events;                      ///< the last ones, oldest first
  std::vector<Stretch> stretches;                           ///< since the campaign began: what it did when
  PairGains pairs;                                          ///< of the best with the default
  std::map<std::string, std::string, std::less<>> machine;  ///< fields of the fingerprint
  EpochTimes epochs;
  MemoryUse memory;
  Reached reached;  ///< empty while it runs
  StepTimes steps;
};

/// `expectations`: what the model says of it.
[[nodiscard]] ReportData report_data(const db::Store& store, tuner::Answer answer, tuner::Expectations expectations,
                                     const Moment& moment);

/// What charts of single trials need: epochs, memory, steps, and what the machine could do. (report_details.cpp)
void add_details(const db::Store& store, ReportData& data);

/// What the campaign's times are of: "12 epochs".
[[nodiscard]] std::string horizon_of(const tuner::Answer& answer);
/// "AMD EPYC, 1 sockets, 2 cores, 4 threads, 16 GiB"; empty: not known.
[[nodiscard]] std::string machine_of(const ReportData& data);
/// A sentence for each thing that went wrong, the gravest first. (what_went_wrong.cpp)
[[nodiscard]] std::vector<std::string> what_went_wrong(const ReportData& data);
/// Machine, workload, times.
[[nodiscard]] std::vector<PageFact> page_facts(const ReportData& data);
[[nodiscard]] std::vector<PageSection> page_sections(const ReportData& data);
/// Several campaigns on one page: what is compared, then the sections of each, under its name. (side_by_side.cpp)
[[nodiscard]] std::vector<PageSection> sections_side_by_side(std::span<const ReportData> all,
                                                             std::span<const std::string> names);

}  // namespace nocturne::report
