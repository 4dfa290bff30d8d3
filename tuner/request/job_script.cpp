#include "tuner/request/job_script.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/campaign_file/quantity.hpp"
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

std::string folder_lines(const JobRequest& request) {
  return request.scheduler() == "torque" ? "cd -- \"${PBS_O_WORKDIR:-$PWD}\" || exit 5\n" : "";
}

std::string module_lines(const JobRequest& request) {
  std::string text;
  if (request.infrastructure)
    for (const std::string& line : request.infrastructure->modules) text += line + "\n";
  return text;
}

Json completed_options(const Deployment& deployment) {
  Json options = deployment.request.job_options;
  const Parallelism& parallelism = deployment.parallelism;
  const auto fill = [&](const char* key, Json value) {
    if (!options.contains(key)) options[key] = std::move(value);
  };
  fill("job_name", "job");
  fill("standard_output_file", "job.out");
  fill("combine_stdout_stderr", true);
  if (options["combine_stdout_stderr"].get<bool>()) options.erase("standard_error_file");
  const bool cores_are_named = options.contains("core_count");
  if (!deployment.profile) {
    if (!cores_are_named) {
      fill("node_count", parallelism.nodes);
      const auto nodes = options["node_count"].get<std::int64_t>();
      fill("process_count_per_node", (parallelism.ranks + nodes - 1) / nodes);
      if (parallelism.threads > 1) fill("core_count_per_process", parallelism.threads);
    }
    if (deployment.gpu) fill("request_gpus", deployment.accelerators);
    return options;
  }
  const deploy::JobResources resources = deploy::job_resources(*deployment.profile);
  if (!cores_are_named) {
    fill("node_count", 1);
    fill("process_count_per_node", 1);
    if (resources.threads > 0) fill("core_count_per_process", resources.threads);
  }
  const bool torque = deployment.request.scheduler() == "torque";
  if (resources.memory_mib && !options.contains("minimum_memory_per_processor"))
    fill("memory_limit", fmt::format("{}{}", *resources.memory_mib, torque ? "mb" : "M"));
  if (resources.wall) fill("wall_time_limit", clock_text(*resources.wall));
  if (resources.gpu) fill("request_gpus", 1);
  if (resources.whole_node) fill("node_exclusive", true);
  return options;
}

namespace {

std::string fragment_lines(const Deployment& deployment, bool post) {
  std::string text;
  for (const Fragment& fragment : deployment.fragments) {
    if (fragment.post != post) continue;
    text += fmt::format("# {}\n{}{}", deploy::comment_text(fragment.name), fragment.raw,
                        fragment.raw.ends_with('\n') ? "" : "\n");
  }
  return text;
}

/// The site's lines, the storage, what comes before the application.
std::string before(const Deployment& deployment) {
  const JobRequest& request = deployment.request;
  std::string text;
  text += folder_lines(request) + module_lines(request);
  if (const std::string place = storage_place(deployment); !place.empty())
    text += fmt::format("export preferred_storage_location={}\n", deploy::shell_quote(place));
  return text + fragment_lines(deployment, false);
}

std::string own_environment(const Deployment& deployment) {
  if (!deployment.offer || !deployment.container.empty()) return {};
  const Offer& offer = *deployment.offer;
  if (!offer.packages.empty()) return "PATH=$PWD/environment/bin:$PATH\nexport PATH\n";
  if (!offer.has_python) return {};
  if (offer.kind == Offer::Kind::Installed)
    return fmt::format("PATH={}:$PATH\nexport PATH\n", deploy::shell_quote(offer.environment + "/bin"));
  return fmt::format("python=$(nocturne env python {}) || exit 5\nPATH=${{python%/*}}:$PATH\nexport PATH\n",
                     deploy::shell_quote(offer.name));
}

/// The request's own command: variables, launcher, container.
std::string application_lines(const Deployment& deployment) {
  const JobRequest& request = deployment.request;
  const Parallelism& parallelism = deployment.parallelism;
  const std::vector<std::string> words = command_words(request);
  std::string text = container_lines(deployment) + own_environment(deployment);
  if (parallelism.launched) text += fmt::format("export OMP_NUM_THREADS={}\n", parallelism.threads);
  const Json affinity =
      request.optimisation.value("/app_type-hpc/parallelisation-openmp/affinity"_json_pointer, Json());
  if (affinity.is_string())
    text += fmt::format("export OMP_PROC_BIND={}\n", deploy::shell_quote(affinity.get<std::string>()));
  if (words.empty())
    return text +
           "# The request names no executable: this is the image alone.\n"
           "echo 'nothing is started: the request names no executable, and no training was measured' >&2\n";
  const bool slurm = request.scheduler() == "slurm";
  const std::string launcher =
      parallelism.launched ? fmt::format("{} {} ", slurm ? "srun -n" : "mpirun -np", parallelism.ranks) : "";
  return text + launcher + contained_command(deployment, deploy::shell_command(words)) + "\n";
}

/// `body` with what comes behind it, and its exit status kept.
std::string followed(const Deployment& deployment, const std::string& body) {
  const std::string post = fragment_lines(deployment, true);
  return post.empty() ? body : "(\n" + body + ")\nstatus=$?\n" + post + "exit $status\n";
}

std::string notes_text(const Deployment& deployment) {
  std::string text;
  for (const std::string& note : deployment.notes) text += fmt::format("# {}.\n", deploy::comment_text(note));
  return text;
}

}  // namespace

std::string job_script(const Deployment& deployment) {
  const JobRequest& request = deployment.request;
  std::string text = "#!/bin/sh\n" + job_directives(completed_options(deployment), request.scheduler());
  if (!deployment.profile) {
    text += notes_text(deployment) + before(deployment);
    return text + followed(deployment, application_lines(deployment));
  }
  const deploy::JobResources resources = deploy::job_resources(*deployment.profile);
  if (!request.scheduler().empty()) {
    text += deploy::resource_comments(*deployment.profile, resources);
    if (request.job_options.contains("wall_time_limit") && resources.wall)
      text += fmt::format("# The request asks for {}; the forecast's upper end is {}.\n",
                          request.job_options["wall_time_limit"].get<std::string>(), clock_text(*resources.wall));
    text += "#\n";
  }
  return text + notes_text(deployment) + before(deployment) +
         followed(deployment, deploy::job_body(*deployment.profile));
}

}  // namespace nocturne::tuner
