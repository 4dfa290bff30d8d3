#include "kernels/machine/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>
#include <string>

#include "kernels/machine/team.hpp"

namespace nocturne::machine {
namespace {

template <typename... Values>
void print(std::ostream& out, const char* format, Values... values) {
  std::array<char, 256> line;
  std::snprintf(line.data(), line.size(), format, values...);
  out << line.data() << '\n';
}

std::string tries_text(const Measurement& m) {
  return m.tries > 1 ? "  best of " + std::to_string(m.tries) + " tries" : std::string();
}

}  // namespace

Surroundings this_machine() {
  const auto cpus = allowed_cpus();
  const auto nodes = memory_nodes(cpus).size();
  return {.cpus = static_cast<int>(cpus.size()),
          .caches = data_caches(cpus.front(), cpus),
          .memory_nodes = static_cast<int>(std::max<std::size_t>(1, nodes))};
}

void print_table(std::ostream& out, const std::vector<Measurement>& measurements) {
  print(out, "%-12s %-12s %7s %9s %9s %9s %7s  %-8s %s", "what", "kernel", "threads", "median", "min", "max", "spread",
        "unit", "sum");
  for (const Measurement& m : measurements) {
    if (!m.absent.empty()) {
      print(out, "%-12s %-12s %7d  not measured: %s", m.name.c_str(), "-", m.threads, m.absent.c_str());
      continue;
    }
    std::string nodes;
    if (m.node >= 0) nodes = "  node " + std::to_string(m.node) + ", memory of " + std::to_string(m.memory_node);
    print(out, "%-12s %-12s %7d %9.1f %9.1f %9.1f %6.1f%%  %-8s %.6g%s%s", m.name.c_str(), m.kernel.c_str(), m.threads,
          m.rate.median, m.rate.minimum, m.rate.maximum, 100 * m.rate.relative_spread, m.unit.c_str(), m.sum,
          m.right ? "" : " WRONG", (nodes + tries_text(m)).c_str());
  }
  for (const Measurement& m : measurements) {
    if (m.doubt.empty()) continue;
    out << '\n'
        << m.name << " with " << m.threads << (m.threads == 1 ? " thread" : " threads") << " is doubtful after "
        << m.tries << " tries: " << m.doubt << ". Did something else run?\n";
  }
}

nlohmann::json to_json(const std::vector<Measurement>& measurements, const Surroundings& of) {
  nlohmann::json list = nlohmann::json::array();
  for (const Measurement& m : measurements) {
    nlohmann::json entry = {{"name", m.name}, {"unit", m.unit}, {"threads", m.threads}};
    if (m.working_set_bytes > 0) entry["working_set_bytes"] = m.working_set_bytes;
    if (m.node >= 0) entry["node"] = m.node;
    if (m.memory_node >= 0) entry["memory_node"] = m.memory_node;
    if (!m.absent.empty()) {
      entry["absent"] = m.absent;
    } else {
      entry.update({{"kernel", m.kernel},
                    {"median", m.rate.median},
                    {"minimum", m.rate.minimum},
                    {"maximum", m.rate.maximum},
                    {"relative_spread", m.rate.relative_spread},
                    {"repeats", m.rate.repeats},
                    {"tries", m.tries},
                    {"sum", m.sum},
                    {"right", m.right}});
      if (!m.doubt.empty()) entry["doubt"] = m.doubt;
    }
    list.push_back(std::move(entry));
  }
  nlohmann::json caches = nlohmann::json::array();
  for (const CacheLevel& cache : of.caches)
    caches.push_back({{"level", cache.level}, {"bytes", cache.bytes}, {"sharers", cache.sharers}});
  return {{"format", 1},
          {"cpus", of.cpus},
          {"caches", std::move(caches)},
          {"memory_nodes", of.memory_nodes},
          {"measurements", std::move(list)},
          {"gpus", nlohmann::json::array()}};
}

}  // namespace nocturne::machine
