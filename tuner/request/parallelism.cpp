#include "tuner/request/parallelism.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "space/json_field.hpp"

namespace nocturne::tuner {
namespace {

std::int64_t rounded_up(std::int64_t count, std::int64_t a_piece) {
  return (count + a_piece - 1) / a_piece;
}

/// `source`: who says so.
void lower_to_efficiency(const JobRequest& request, double parallel_fraction, const std::string& source,
                         Parallelism& result) {
  std::optional<double> efficiency;
  space::take_field(request.application, "minimal_efficiency", efficiency);
  if (!efficiency) return;
  const std::int64_t asked = result.ranks;
  result.ranks = efficient_ranks(asked, *efficiency, parallel_fraction);
  if (result.ranks < asked)
    result.reason = fmt::format(
        "{} ranks, not {}: more fall below a parallel efficiency of {:g} where a fraction of {:.4g} is parallel, {}",
        result.ranks, asked, *efficiency, parallel_fraction, source);
}

void lower(const JobRequest& request, const Scaling& scaling, Parallelism& result) {
  const std::int64_t asked = result.ranks;
  if (scaling.model == Scaling::Model::Amdahl)
    return lower_to_efficiency(request, scaling.parallel_fraction, "as the registry says", result);
  if (scaling.model == Scaling::Model::Noop) return;
  if (scaling.most_ranks) result.ranks = std::min(asked, *scaling.most_ranks);
  if (scaling.most_threads) result.threads = std::min(result.threads, *scaling.most_threads);
  if (result.ranks < asked)
    result.reason = fmt::format("{} ranks, not {}: it does not scale further", result.ranks, asked);
}

}  // namespace

std::int64_t efficient_ranks(std::int64_t asked, double efficiency, double parallel_fraction) {
  const double serial = 1 - parallel_fraction;
  if (serial <= 0) return asked;
  const double most = std::round((1 - efficiency * parallel_fraction) / (efficiency * serial));
  return std::clamp<std::int64_t>(most < static_cast<double>(asked) ? static_cast<std::int64_t>(most) : asked, 1,
                                  asked);
}

std::expected<Parallelism, std::string> parallelism_of(const JobRequest& request, const std::optional<Scaling>& scaling,
                                                       const std::optional<FittedScaling>& fitted) {
  Parallelism result;
  space::take_field(request.application, "mpi_ranks", result.ranks);
  const Demands demands = demands_of(request);
  if (demands.threads) result.threads = *demands.threads;
  std::string type;
  space::take_field(request.application, "app_type", type);
  result.launched = type == "mpi" || type == "hpc" || (type.empty() && demands.hpc);
  if (!result.launched) result.ranks = 1;
  if (fitted)
    lower_to_efficiency(request, fitted->parallel_fraction,
                        fmt::format("fitted from {} numbers of ranks of campaign {} ({:.4g} to {:.4g})", fitted->points,
                                    fitted->campaign, fitted->low, fitted->high),
                        result);
  else if (scaling)
    lower(request, *scaling, result);
  else if (request.application.contains("minimal_efficiency") && result.launched)
    result.reason =
        "minimal_efficiency changes nothing: no run with several processes was measured, and the registry "
        "says nothing of how it scales";
  const bool known = request.partition && request.partition->node_cores;
  const std::int64_t needed = known ? rounded_up(result.ranks, *request.partition->node_cores) : 1;
  result.nodes = request.job_options.value("node_count", needed);
  if (request.partition && request.partition->nodes && result.nodes > *request.partition->nodes)
    return std::unexpected(fmt::format("{} ranks need {} nodes of {} cores, and partition {} has {}", result.ranks,
                                       result.nodes, request.partition->node_cores.value_or(1), request.partition->name,
                                       *request.partition->nodes));
  return result;
}

}  // namespace nocturne::tuner
