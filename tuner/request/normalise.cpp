#include "tuner/request/normalise.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

struct Renamed {
  std::string_view section, from, to;
};

// In this order: a section gets its name before what is in it. A name in `to` with a slash goes one section deeper.
constexpr std::array kNames = {
    Renamed{"/job", "optimization", "optimisation"},
    Renamed{"/job/job_options", "architecture_constraint", "partition"},
    Renamed{"/job/target", "queue_type", "job_scheduler_type"},
    Renamed{"/job/application", "app_name", "app_tag"},
    Renamed{"/job/application", "app_build", "build"},
    Renamed{"/job/optimisation", "ai_training", "app_type-ai_training"},
    Renamed{"/job/optimisation", "hpc", "app_type-hpc"},
    Renamed{"/job/optimisation/app_type-ai_training", "tensorflow", "ai_framework-tensorflow"},
    Renamed{"/job/optimisation/app_type-ai_training", "pytorch", "ai_framework-pytorch"},
    Renamed{"/job/optimisation/app_type-ai_training", "keras", "ai_framework-keras"},
    Renamed{"/job/optimisation/app_type-ai_training", "cntk", "ai_framework-cntk"},
    Renamed{"/job/optimisation/app_type-ai_training", "mxnet", "ai_framework-mxnet"},
    Renamed{"/job/optimisation/app_type-hpc", "mpi", "parallelisation-mpi"},
    Renamed{"/job/optimisation/app_type-hpc", "openmp", "parallelisation-openmp"},
    Renamed{"/job/optimisation/app_type-hpc", "parallelisation-opencc", "parallelisation-openacc"},
};

struct Spelling {
  std::string_view key, from, to;
};

constexpr std::array kSpellings = {
    Spelling{"app_type", "HPC", "hpc"},
    Spelling{"app_type", "MPI", "mpi"},
    Spelling{"app_type", "AI_training", "ai_training"},
    Spelling{"acc_type", "Nvidia", "nvidia"},
    Spelling{"acc_type", "NVIDIA-V100", "nvidia"},
    Spelling{"acc_type", "AMD-M100", "amd"},
    Spelling{"acc_type", "FPGA-Xilinx", "fpga"},
    Spelling{"cpu_type", "Intelx86", "x86"},
    Spelling{"library", "mvapch", "mvapich"},
    Spelling{"library", "opnmpi", "openmpi"},
    Spelling{"parallelisation", "opencc", "openacc"},
    Spelling{"job_scheduler_type", "SLURM", "slurm"},
    Spelling{"job_scheduler_type", "Torque", "torque"},
    Spelling{"job_scheduler_type", "TORQUE", "torque"},
};

Json* section_at(Document& document, std::string_view pointer) {
  const Json::json_pointer place{std::string(pointer)};
  if (!document.value.contains(place)) return nullptr;
  Json& section = document.value.at(place);
  return section.is_object() ? &section : nullptr;
}

void move_places(Document& document, const std::string& from, const std::string& to) {
  std::vector<std::pair<std::string, Place>> moved;
  for (const auto& [pointer, place] : document.places)
    if (pointer.starts_with(from) && (pointer.size() == from.size() || pointer[from.size()] == '/'))
      moved.emplace_back(to + pointer.substr(from.size()), place);
  for (auto& [pointer, place] : moved) document.places[pointer] = std::move(place);
}

/// What has both names keeps both: the older one is then an unknown key.
void rename_key(Document& document, const Renamed& name) {
  Json* section = section_at(document, name.section);
  const std::string from(name.from), to(name.to);
  if (section == nullptr || !section->contains(from) || section->contains(to)) return;
  Json value = std::move((*section)[from]);
  section->erase(from);
  (*section)[to] = std::move(value);
  move_places(document, pointer_to(name.section, from), pointer_to(name.section, to));
}

/// A list of one is that one; the earliest generation had lists.
void take_out_of_list(Json& value) {
  if (value.is_array() && value.size() == 1) value = Json(value.front());
}

std::string trimmed(const std::string& text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// "none" is an answer where it can be demanded that there is no accelerator.
bool says_nothing(const std::string& key, const std::string& text) {
  return text.empty() || (text == "none" && key != "acc_type");
}

void replace_spelling(const std::string& key, std::string& text) {
  for (const Spelling& spelling : kSpellings)
    if (spelling.key == key && spelling.from == text) text = spelling.to;
}

void normalise_texts(Json& object) {
  std::vector<std::string> nothing;
  for (auto& [key, value] : object.items()) {
    if (key == "parallelisation") take_out_of_list(value);
    if (value.is_object()) normalise_texts(value);
    if (value.is_null()) nothing.push_back(key);
    if (!value.is_string()) continue;
    std::string text = trimmed(value.get<std::string>());
    replace_spelling(key, text);
    if (says_nothing(key, text)) nothing.push_back(key);
    value = std::move(text);
  }
  for (const std::string& key : nothing) object.erase(key);
}

/// {"arch_build": {"cpu_type": …}} of the application belongs to what is decided.
void move_arch_build(Document& document) {
  Json* application = section_at(document, "/job/application");
  if (application == nullptr || !application->contains("arch_build")) return;
  Json& optimisation = document.value["job"]["optimisation"];
  if (optimisation.is_null()) optimisation = Json::object();
  if (!optimisation.is_object() || optimisation.contains("opt_build")) return;
  optimisation["opt_build"] = std::move((*application)["arch_build"]);
  application->erase("arch_build");
  move_places(document, "/job/application/arch_build", "/job/optimisation/opt_build");
}

/// Sections that stood beside others before they stood in them.
void move_bare_sections(Document& document) {
  constexpr std::array kBare = {std::pair{"mpi", "app_type-hpc"}, std::pair{"openmp", "app_type-hpc"},
                                std::pair{"tensorflow", "app_type-ai_training"},
                                std::pair{"pytorch", "app_type-ai_training"},
                                std::pair{"keras", "app_type-ai_training"}};
  Json* optimisation = section_at(document, "/job/optimisation");
  for (const auto& [bare, section] : kBare) {
    if (optimisation == nullptr || !optimisation->contains(bare)) continue;
    Json& inside = (*optimisation)[section];
    if (inside.is_null()) inside = Json::object();
    if (!inside.is_object() || inside.contains(bare)) continue;
    Json value = std::move((*optimisation)[bare]);
    optimisation->erase(bare);
    (*optimisation)[section][bare] = std::move(value);
    const std::string parent = "/job/optimisation";
    move_places(document, pointer_to(parent, bare), pointer_to(pointer_to(parent, section), bare));
  }
}

}  // namespace

void normalise_request(Document& document) {
  for (const Renamed& name : kNames) {
    rename_key(document, name);
    // Once the section itself has its name, and before what is in it is renamed.
    if (name.from == "hpc") move_bare_sections(document);
  }
  move_arch_build(document);
  if (document.value.is_object()) normalise_texts(document.value);
}

}  // namespace nocturne::tuner
