#include "tuner/cli/measuring/live_report.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/html_report.hpp"

namespace nocturne::cli {
namespace {

constexpr std::chrono::minutes kBetweenPages{1};
constexpr int kShare = 100;  // of the time, one part

}  // namespace

LiveReport::LiveReport(const Context& context, const db::Store& store, const tuner::Clock& clock, tuner::Observer& say)
    : context_(context), store_(store), clock_(clock), say_(say) {}

LiveReport::~LiveReport() {
  if (campaign_) renew(false);
}

bool LiveReport::renew(bool running) {
  const auto before = clock_.steady();
  bool written = false;
  try {
    if (const auto campaign = find_campaign(store_, *campaign_)) {
      // The model of the search is not asked: another fit would take time from it.
      HtmlReport report{.answer = tuner::answer_of(store_, *campaign), .running = running};
      written = write_html(context_, store_, {std::move(report)}, html_file(context_, *campaign), false).has_value();
    }
  } catch (const std::exception&) {  // the campaign itself will say what is wrong with its database
  }
  const auto after = clock_.steady();
  next_ = after + std::max<std::chrono::nanoseconds>(kBetweenPages, kShare * (after - before));
  return written;
}

void LiveReport::renew_if_due() {
  if (campaign_ && clock_.steady() >= next_) renew(true);
}

void LiveReport::opened(const tuner::Opening& opening) {
  campaign_ = opening.id;
  if (renew(true))
    say_.note("A page of it, renewed while it runs: " + html_file(context_, {.name = opening.campaign}).string());
}

void LiveReport::finished(const space::Trial& /*trial*/, bool /*reused*/, const tuner::Progress& /*progress*/) {
  renew_if_due();
}

void LiveReport::pair_finished(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/,
                               const std::optional<measure::Comparison>& /*so_far*/) {
  renew_if_due();
}

}  // namespace nocturne::cli
