#include "tuner/cli/measuring/live_report.hpp"

#include <algorithm>
#include <exception>
#include <span>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/output/html_report.hpp"

namespace nocturne::cli {
namespace {

constexpr std::chrono::minutes kBetweenPages{1};
constexpr int kShare = 100;  // of the time, one part

}  // namespace

LiveReport::LiveReport(const Context& context, const db::Store& store, const tuner::Clock& clock, tuner::Observer& say)
    : context_(context), store_(store), clock_(clock), say_(say) {}

LiveReport::~LiveReport() {
  if (campaign_) write(false);
}

bool LiveReport::write(bool running) {
  try {
    for (const db::CampaignSummary& campaign : store_.list_campaigns()) {
      if (campaign.id != *campaign_) continue;
      const auto answer = tuner::answer_of(store_, campaign);
      // The model of the search is not asked: another fit would take time from it.
      const tuner::Expectations none;
      const HtmlReport report{.answer = answer, .expectations = none, .running = running};
      return write_html(context_, store_, std::span(&report, 1), html_file(context_, campaign), false).has_value();
    }
  } catch (const std::exception&) {  // the campaign itself will say what is wrong with its database
  }
  return false;
}

void LiveReport::write_if_due() {
  const auto before = clock_.steady();
  if (!campaign_ || before < next_) return;
  write(true);
  const auto after = clock_.steady();
  next_ = after + std::max<std::chrono::nanoseconds>(kBetweenPages, kShare * (after - before));
}

void LiveReport::opened(const tuner::Opening& opening) {
  campaign_ = opening.id;
  next_ = clock_.steady() + kBetweenPages;
  if (write(true))
    say_.note("A page of it, renewed while it runs: " + html_file(context_, {.name = opening.campaign}).string());
}

void LiveReport::finished(const space::Trial& /*trial*/, bool /*reused*/, const tuner::Progress& /*progress*/) {
  write_if_due();
}

void LiveReport::pair_finished(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/,
                               const std::optional<measure::Comparison>& /*so_far*/) {
  write_if_due();
}

}  // namespace nocturne::cli
