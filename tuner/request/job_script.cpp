#include "tuner/request/job_script.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/deploy/job_resources.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// An option and what stands before its value; empty: this scheduler has none, or it is written elsewhere.
struct Directive {
  const char* key;
  std::string_view slurm, torque;
};

constexpr std::array kDirectives = {
    Directive{"job_name", "-J ", "-N "},
    Directive{"account", "-A ", "-A "},
    Directive{"queue", "--partition=", "-q "},
    Directive{"partition", "-C ", "-l partition="},
    Directive{"wall_time_limit", "--time=", "-l walltime="},
    Directive{"node_count", "-N ", ""},
    Directive{"core_count", "-n ", "-l procs="},
    Directive{"process_count_per_node", "--ntasks-per-node=", ""},
    Directive{"core_count_per_process", "--cpus-per-task=", ""},
    Directive{"memory_limit", "--mem=", "-l mem="},
    Directive{"minimum_memory_per_processor", "--mem-per-cpu=", "-l pmem="},
    Directive{"request_gpus", "--gres=gpu:", ""},
    Directive{"request_specific_nodes", "--nodelist=", "-l nodes="},
    Directive{"job_array", "-a ", "-t "},
    Directive{"standard_output_file", "--output=", "-o "},
    Directive{"standard_error_file", "--error=", "-e "},
    Directive{"copy_environment_variable", "--export=", "-v "},
    Directive{"job_dependency", "--dependency=", "-W depend="},
    Directive{"email_address", "--mail-user=", "-M "},
    Directive{"defer_job", "--begin=", "-a "},
    Directive{"qos", "--qos=", "-l qos="},
};

struct Flag {
  const char* key;
  std::string_view slurm, torque;
};

constexpr std::array kFlags = {
    Flag{"combine_stdout_stderr", "", "-j oe"},
    Flag{"copy_environment", "--export=ALL", "-V"},
    Flag{"node_exclusive", "--exclusive", "-l naccesspolicy=singlejob"},
};

/// Torque has nodes, processes, GPUs and queue in one word.
std::string torque_nodes(const Json& options) {
  if (options.contains("request_specific_nodes")) return {};
  std::string word = fmt::format("-l nodes={}", options.value("node_count", 1));
  const int cores = options.value("core_count_per_process", 1) * options.value("process_count_per_node", 1);
  if (cores > 1) word += fmt::format(":ppn={}", cores);
  if (options.contains("request_gpus")) word += fmt::format(":gpus={}", options["request_gpus"].get<int>());
  if (options.contains("queue")) word += ":" + options["queue"].get<std::string>();
  return word;
}

struct MailEvent {
  char letter;
  std::string_view word;
};

constexpr std::array kMail = {MailEvent{'b', "BEGIN"}, MailEvent{'e', "END"}, MailEvent{'f', "FAIL"},
                              MailEvent{'a', "FAIL"}, MailEvent{'n', "NONE"}};

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "4 GB" is 4G to Slurm and 4gb to Torque. Without a unit it is what each takes it for.
std::string memory_text(std::string text, bool slurm) {
  const std::size_t unit = text.find_first_not_of("0123456789");
  if (unit == std::string::npos) return text;
  const char letter = text[text.find_first_not_of(' ', unit)];
  const bool lower = letter >= 'a' && letter <= 'z';
  text.resize(unit);
  if (slurm) return text + (lower ? static_cast<char>(letter - 'a' + 'A') : letter);
  return text + (lower ? letter : static_cast<char>(letter - 'A' + 'a')) + 'b';
}

bool has_lower_case(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

std::string slurm_mail(std::string_view events) {
  if (!has_lower_case(events)) return std::string(events);
  std::vector<std::string_view> words;
  for (const char letter : events) {
    const auto event = std::ranges::find(kMail, letter, &MailEvent::letter);
    if (event != kMail.end() && std::ranges::find(words, event->word) == words.end()) words.push_back(event->word);
  }
  return fmt::format("{}", fmt::join(words, ","));
}

std::string torque_mail(std::string_view events) {
  if (has_lower_case(events)) return std::string(events);
  std::string letters;
  while (!events.empty()) {
    const std::string_view word = events.substr(0, events.find(','));
    events.remove_prefix(std::min(word.size() + 1, events.size()));
    if (word == "ALL") return "abe";
    const auto event = std::ranges::find(kMail, word, &MailEvent::word);
    if (event != kMail.end() && !letters.contains(event->letter)) letters += event->letter;
  }
  return letters.empty() ? "n" : letters;
}

std::string job_directives(const Json& options, std::string_view scheduler) {
  if (scheduler.empty()) return {};
  const bool slurm = scheduler == "slurm";
  const std::string_view start = slurm ? "#SBATCH " : "#PBS ";
  std::string text;
  const auto add = [&](std::string_view word, const std::string& value) {
    if (!word.empty()) text += fmt::format("{}{}{}\n", start, word, value);
  };
  for (const Directive& directive : kDirectives)
    if (options.contains(directive.key)) {
      const std::string value = value_text(options[directive.key]);
      const bool memory = std::string_view(directive.key).contains("memory");
      add(slurm ? directive.slurm : directive.torque, memory ? memory_text(value, slurm) : value);
    }
  if (!slurm) add(torque_nodes(options), "");
  for (const Flag& flag : kFlags)
    if (options.value(flag.key, false)) add(slurm ? flag.slurm : flag.torque, "");
  if (options.contains("request_event_notification")) {
    const auto events = options["request_event_notification"].get<std::string>();
    add(slurm ? "--mail-type=" : "-m ", slurm ? slurm_mail(events) : torque_mail(events));
  }
  return text;
}

Json completed_options(const JobRequest& request, const deploy::Profile& profile) {
  Json options = request.job_options;
  const deploy::JobResources resources = deploy::job_resources(profile);
  const auto fill = [&](const char* key, Json value) {
    if (!options.contains(key)) options[key] = std::move(value);
  };
  fill("job_name", "job");
  fill("standard_output_file", "job.out");
  fill("combine_stdout_stderr", true);
  if (options["combine_stdout_stderr"].get<bool>()) options.erase("standard_error_file");
  if (!options.contains("core_count")) {
    fill("node_count", 1);
    fill("process_count_per_node", 1);
    if (resources.threads > 0) fill("core_count_per_process", resources.threads);
  }
  if (resources.memory_mib && !options.contains("minimum_memory_per_processor"))
    fill("memory_limit", fmt::format("{}{}", *resources.memory_mib, request.scheduler() == "torque" ? "mb" : "M"));
  if (resources.wall) fill("wall_time_limit", deploy::clock_text(*resources.wall));
  if (resources.gpu) fill("request_gpus", 1);
  if (resources.whole_node) fill("node_exclusive", true);
  return options;
}

std::string job_script(const JobRequest& request, const deploy::Profile& profile) {
  const deploy::JobResources resources = deploy::job_resources(profile);
  std::string text = "#!/bin/sh\n";
  if (!request.scheduler().empty()) {
    text += job_directives(completed_options(request, profile), request.scheduler());
    text += deploy::resource_comments(profile, resources);
    if (request.job_options.contains("wall_time_limit") && resources.wall)
      text +=
          fmt::format("# The request asks for {}; the forecast's upper end is {}.\n",
                      request.job_options["wall_time_limit"].get<std::string>(), deploy::clock_text(*resources.wall));
    text += "#\n";
  }
  return text + deploy::job_body(profile);
}

}  // namespace nocturne::tuner
