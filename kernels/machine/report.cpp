#include "kernels/machine/report.hpp"

#include <array>
#include <cstdio>
#include <ostream>

namespace nocturne::machine {
namespace {

template <typename... Values>
void print(std::ostream& out, const char* format, Values... values) {
  std::array<char, 256> line;
  std::snprintf(line.data(), line.size(), format, values...);
  out << line.data() << '\n';
}

}  // namespace

void print_table(std::ostream& out, const std::vector<Measurement>& measurements) {
  print(out, "%-9s %-12s %7s %9s %9s %9s %7s  %-8s %s", "what", "kernel", "threads", "median", "min", "max", "spread",
        "unit", "sum");
  for (const Measurement& m : measurements) {
    if (!m.absent.empty()) {
      print(out, "%-9s %-12s %7d  not measured: %s", m.name.c_str(), "-", m.threads, m.absent.c_str());
      continue;
    }
    print(out, "%-9s %-12s %7d %9.1f %9.1f %9.1f %6.1f%%  %-8s %.6g%s", m.name.c_str(), m.kernel.c_str(), m.threads,
          m.rate.median, m.rate.minimum, m.rate.maximum, 100 * m.rate.relative_spread, m.unit.c_str(), m.sum,
          m.right ? "" : " WRONG");
  }
}

nlohmann::json to_json(const std::vector<Measurement>& measurements) {
  nlohmann::json list = nlohmann::json::array();
  for (const Measurement& m : measurements) {
    nlohmann::json entry = {{"name", m.name}, {"unit", m.unit}, {"threads", m.threads}};
    if (!m.absent.empty()) {
      entry["absent"] = m.absent;
    } else {
      entry.update({{"kernel", m.kernel},
                    {"median", m.rate.median},
                    {"minimum", m.rate.minimum},
                    {"maximum", m.rate.maximum},
                    {"relative_spread", m.rate.relative_spread},
                    {"repeats", m.rate.repeats},
                    {"sum", m.sum},
                    {"right", m.right}});
    }
    list.push_back(std::move(entry));
  }
  return {{"format", 1}, {"measurements", std::move(list)}};
}

}  // namespace nocturne::machine
