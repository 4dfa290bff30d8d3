#include "tuner/request/open_campaign.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/networks/network.hpp"
#include "space/digest.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/request/job_script.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

/// A framework that satisfies the request, and the graph compilers that it may use then; "none" among them.
struct OpenFramework {
  std::string name;
  Names compilers;
};

bool is_denied(const std::string& compiler, const Demands& demands) {
  return std::ranges::any_of(demands.graph_compilers(),
                             [&](const auto& each) { return each.first == compiler && each.second == false; });
}

/// The one that is demanded; empty: none is.
std::string demanded_compiler(const Demands& demands) {
  for (const auto& [compiler, wanted] : demands.graph_compilers())
    if (wanted == true) return std::string(compiler);
  return {};
}

Names compilers_of(const Offer& offer, const Demands& demands) {
  if (const std::string one = demanded_compiler(demands); !one.empty()) return {one};
  Names names;
  // Without another way to train, its one compiler is no choice.
  if (offer.labels.graph_compilers.empty() || offer.labels.offered.size() > 1) names.emplace_back("none");
  for (const std::string& each : offer.labels.offered)
    if (!is_denied(each, demands)) names.push_back(each);
  return names;
}

std::vector<OpenFramework> open_frameworks(const Demands& demands, const OpenFrameworks& here) {
  std::vector<OpenFramework> result;
  for (const Offer& offer : here.offers) {
    const bool wanted = !demands.framework.empty() || offer.kind == Offer::Kind::Installed;
    if (offer.kind == Offer::Kind::Image || !wanted || !mismatch(offer.labels, demands).empty()) continue;
    if (here.obstacle && !here.obstacle(offer.name).empty()) continue;
    result.push_back({.name = offer.name, .compilers = compilers_of(offer, demands)});
  }
  const bool gpu = demands.accelerator == "nvidia";
  if (demands.framework.empty() && demanded_compiler(demands).empty())
    for (const std::string& own : here.own)
      if ((own == "cudnn") == gpu) result.push_back({.name = own, .compilers = {}});
  return result;
}

Json list_parameter(const char* name, const char* stage, const Json& values) {
  return {{"name", name}, {"stage", stage}, {"values", values}, {"default", values.front()}};
}

std::string quoted_list(const Names& names) {
  return fmt::format("['{}']", fmt::join(names, "', '"));
}

/// The parameter of graph compilers, active where there is a choice or a demand; and which framework has which.
void add_compilers(const std::vector<OpenFramework>& frameworks, const Demands& demands, Json& space) {
  std::map<std::string, Names> users;
  Names with_choice, order;
  for (const OpenFramework& each : frameworks) {
    if (each.compilers.size() < 2 && demanded_compiler(demands).empty()) continue;
    with_choice.push_back(each.name);
    for (const std::string& compiler : each.compilers) {
      users[compiler].push_back(each.name);
      if (std::ranges::find(order, compiler) == order.end()) order.push_back(compiler);
    }
  }
  if (order.empty()) return;
  Json parameter = list_parameter("graph_compiler", "compile", order);
  if (with_choice.size() < frameworks.size())
    parameter["active_if"] = fmt::format("framework in {}", quoted_list(with_choice));
  space["parameters"].push_back(std::move(parameter));
  for (const auto& [compiler, names] : users)
    if (names.size() < with_choice.size())
      space["constraints"].push_back(
          {{"require", fmt::format("graph_compiler != '{}' or framework in {}", compiler, quoted_list(names))},
           {"because", fmt::format("{} belongs to {}", compiler, fmt::join(names, ", "))}});
}

Json space_of(const JobRequest& request, const Demands& demands, const std::vector<OpenFramework>& frameworks,
              const networks::Network& network) {
  Json space = {{"parameters", Json::array()}, {"constraints", Json::array()}};
  Names names;
  for (const OpenFramework& each : frameworks) names.push_back(each.name);
  space["parameters"].push_back(list_parameter("framework", "environment", names));
  add_compilers(frameworks, demands, space);
  const std::string runtime = request.infrastructure ? request.infrastructure->container_runtime : "";
  if (runtime == "apptainer" || runtime == "charliecloud" || runtime == "podman" || runtime == "docker") {
    space["parameters"].push_back(list_parameter("container", "environment", Json::array({"host", runtime})));
    space["constraints"].push_back({{"require", "container == 'host' or container in machine.containers"},
                                    {"because", "the runtime of the target cannot run on this machine"}});
  }
  Json threads = {{"name", "threads"}, {"stage", "run"}, {"range", {1, "machine.cores"}}, {"default", "machine.cores"}};
  if (demands.threads) threads = list_parameter("threads", "run", Json::array({*demands.threads}));
  space["parameters"].push_back(std::move(threads));
  space["parameters"].push_back(
      {{"name", "batch"}, {"stage", "run"}, {"values", {32, 64, 128, 256}}, {"default", 128}});
  const Json prefetch = request.optimisation.value("/app_type-ai_training/data/etl/prefetch"_json_pointer, Json());
  if (prefetch.is_number_integer() && network.data != "mnist")
    space["parameters"].push_back(list_parameter("prefetch", "run", Json::array({prefetch})));
  if (space["constraints"].empty()) space.erase("constraints");
  return space;
}

/// By its own name, or the first that is trained with the data set of that name.
const networks::Network* network_named(const std::string& name) {
  const auto names = networks::network_names();
  for (const std::string_view each : names)
    if (each == name) return &networks::find_network(each);
  for (const std::string_view each : names)
    if (networks::find_network(each).data == name) return &networks::find_network(each);
  return nullptr;
}

}  // namespace

std::expected<OpenCampaign, std::string> open_campaign_of(const JobRequest& request, const OpenFrameworks& here) {
  const Demands demands = demands_of(request);
  const networks::Network* network = demands.hpc ? nullptr : network_named(demands.workload);
  if (network == nullptr && demands.words.empty())
    return std::unexpected(
        "the request names no workload that can be trained here: app_tag is a network of 'nocturne schema campaign', "
        "or executable and arguments are a command");
  const std::string digest = space::short_digest(request.optimisation.dump() + request.application.dump());
  OpenCampaign campaign{
      .name = fmt::format("request-{}-{}",
                          deploy::file_stem(demands.workload.empty() ? std::string("command") : demands.workload),
                          digest.substr(0, 8))};
  if (network == nullptr) {
    campaign.command = demands.words;
    return campaign;
  }
  const std::vector<OpenFramework> frameworks = open_frameworks(demands, here);
  if (frameworks.empty()) return std::unexpected("no framework that this machine can have satisfies the request");
  campaign.document = {
      {"campaign", campaign.name},
      {"description", "What a request leaves open"},
      {"workload", {{"network", network->name}, {"data", network->data}, {"optimizer", network->optimizer}}},
      {"objective", {{"minimise", "time"}, {"epochs", {1, 12, 90}}, {"primary", 12}}},
      {"space", space_of(request, demands, frameworks, *network)},
      {"strategy", {{"name", "auto"}, {"seed", 1}}},
      {"run", {{"steps", 24}, {"deadline", "2min"}}}};
  return campaign;
}

std::string tuning_time(const JobRequest& request) {
  const std::string limit = request.job_options.value("wall_time_limit", "");
  int hours = 0, minutes = 0;
  const char* end = limit.data() + limit.size();
  const auto first = std::from_chars(limit.data(), end, hours);
  if (first.ptr == end || *first.ptr != ':') return "30min";
  std::from_chars(first.ptr + 1, end, minutes);
  return fmt::format("{}min", std::max(1, (hours * 60 + minutes) / 4));
}

std::string tuning_script(const JobRequest& request) {
  Json job = {{"application", request.application}, {"optimisation", request.optimisation}};
  job["optimisation"].erase("enable_autotuning");
  Deployment bare{.request = request};
  if (!bare.request.job_options.contains("node_exclusive")) bare.request.job_options["node_exclusive"] = true;
  std::string text = "#!/bin/sh\n" + job_directives(completed_options(bare), request.scheduler());
  text +=
      "# Nothing was tuned yet: this job first measures what the request leaves open, then trains with the winner.\n";
  text += "# The whole node, for neighbours disturb what is measured.\nset -eu\n";
  text += folder_lines(request) + module_lines(request);
  text += "folder=${ANSWER:-$PWD/answer-$(date +%Y%m%dT%H%M%S)-$$}\nmkdir -p -- \"$folder\"\n";
  text += fmt::format("printf '%s\\n' {} > \"$folder/request.json\"\n",
                      deploy::shell_quote(Json{{"job", job}}.dump(-1, ' ', true, Json::error_handler_t::replace)));
  text +=
      fmt::format("\"${{NOCTURNE:-nocturne}}\" request \"$folder/request.json\" --tune --wall {} --write \"$folder\"\n",
                  tuning_time(request));
  return text + "exec sh \"$folder/job.sh\" \"$@\"\n";
}

}  // namespace nocturne::tuner
