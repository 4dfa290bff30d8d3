#pragma once

/// What a request leaves open, as a campaign: exactly that is varied, and what it demands is fixed. And the job that
/// tunes first, where nobody said how long.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/request/deployment.hpp"

namespace nocturne::tuner {

/// What is tuned.
struct OpenCampaign {
  std::string name;
  nlohmann::json document{};           ///< a campaign file; null: a command of one's own
  std::vector<std::string> command{};  ///< of one's own, to be tuned as `tune -- COMMAND` does; empty: a document
};

/// What can be varied here.
struct OpenFrameworks {
  std::vector<Offer> offers;                                     ///< environments count
  std::vector<std::string> own;                                  ///< workers of ours that can train here
  std::function<std::string(const std::string&)> obstacle = {};  ///< why this machine cannot have it
};

/// The network that app_tag names, else executable and arguments. Open are: which framework, version and source of
/// those that satisfy the request (with none demanded: what is installed here, and our own), the graph compiler, the
/// threads, the batch, and the infrastructure's container runtime against the host. The error is a sentence: no
/// workload is named, or no framework is left.
[[nodiscard]] std::expected<OpenCampaign, std::string> open_campaign_of(const JobRequest& request,
                                                                        const OpenFrameworks& frameworks);

/// How long a job may tune before it trains: a quarter of its time limit; "30min" without one.
[[nodiscard]] std::string tuning_time(const JobRequest& request);

/// A POSIX script for the request's scheduler that tunes what is open, writes the answer's job script, and runs that.
[[nodiscard]] std::string tuning_script(const JobRequest& request);

}  // namespace nocturne::tuner
