#include "tuner/report/judgement.hpp"

#include <utility>

namespace nocturne::report {

std::string_view to_text(ReplicationOutcome finding) {
  switch (finding) {
    case ReplicationOutcome::Confirmed:
      return "confirmed";
    case ReplicationOutcome::Reversed:
      return "reversed";
    case ReplicationOutcome::Undecided:
      return "undecided";
    case ReplicationOutcome::NotMeasured:
      break;
  }
  return "not measured";
}

std::string_view to_text(Size size) {
  switch (size) {
    case Size::Inside:
      return "inside";
    case Size::Smaller:
      return "smaller";
    case Size::Larger:
      return "larger";
    case Size::Unknown:
      break;
  }
  return "unknown";
}

Judgement judge(std::optional<double> published_percent, double low_percent, double high_percent, bool interleaved) {
  Judgement judgement{.finding = ReplicationOutcome::Undecided};
  if (!interleaved) return judgement;
  const bool slower_claimed = published_percent && *published_percent < 0;
  // A published result of slower is one of faster in the mirror.
  if (slower_claimed) {
    low_percent = -std::exchange(high_percent, -low_percent);
  }
  if (low_percent > 0) judgement.finding = ReplicationOutcome::Confirmed;
  if (high_percent < 0) judgement.finding = ReplicationOutcome::Reversed;
  if (!published_percent) return judgement;
  const double claimed = slower_claimed ? -*published_percent : *published_percent;
  judgement.size = high_percent < claimed ? Size::Smaller : low_percent > claimed ? Size::Larger : Size::Inside;
  return judgement;
}

std::string sentence_of(const Judgement& judgement) {
  std::string finding(to_text(judgement.finding));
  if (judgement.finding == ReplicationOutcome::Confirmed) {
    if (judgement.size == Size::Inside) return finding + ", as large as published";
    if (judgement.size == Size::Smaller) return finding + ", but smaller";
    if (judgement.size == Size::Larger) return finding + ", and larger";
  }
  if (judgement.finding == ReplicationOutcome::Undecided) {
    if (judgement.size == Size::Inside) return finding + ", the published size is possible";
    if (judgement.size != Size::Unknown) return finding + ", the published size is excluded";
  }
  return finding;
}

}  // namespace nocturne::report
