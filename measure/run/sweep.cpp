#include "measure/run/sweep.hpp"

#include <algorithm>

#include "measure/supervisor/cgroup.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {

SweepReport sweep() {
  SweepReport report;
  for (const auto& process : tagged_processes()) {
    const auto supervisor = ProcessIdentity::from_text(process.supervisor);
    if (!supervisor || supervisor->alive()) continue;
    if (std::ranges::find(report.runs, process.run_id) != report.runs.end()) continue;
    report.runs.push_back(process.run_id);
    report.processes += kill_processes_of_run(process.run_id);
  }
  report.cgroups = sweep_cgroups(cgroup_parents());
  return report;
}

}  // namespace nocturne::measure
