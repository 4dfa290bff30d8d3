#include "tuner/cli/output/memory_lines.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

using search::model::MemoryModel;

std::string bytes_of(double bytes) {
  return std::isfinite(bytes) ? bytes_text(std::llround(bytes)) : "any amount";
}

/// "12,345"
std::string with_commas(std::int64_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string largest_text(const MemoryLine& line) {
  const auto& largest = *line.largest;
  const auto limit = bytes_of(line.limit_bytes);
  if (!line.line && largest.lower > 0) {  // memory grows in proportion at most
    return fmt::format("at least {} image{} fit{} in {}", with_commas(largest.lower), largest.lower == 1 ? "" : "s",
                       largest.lower == 1 ? "s" : "", limit);
  }
  if (largest.expected == 0) return fmt::format("no batch fits in {}", limit);
  if (largest.expected == MemoryModel::kUnbounded) return fmt::format("any batch fits in {}", limit);
  auto text = fmt::format("at most {} image{} fit{} in {}", with_commas(largest.expected),
                          largest.expected == 1 ? "" : "s", largest.expected == 1 ? "s" : "", limit);
  if (largest.upper == MemoryModel::kUnbounded)
    return text + fmt::format(" (90 %: {} or more)", with_commas(largest.lower));
  return text + fmt::format(" (90 %: {} to {})", with_commas(largest.lower), with_commas(largest.upper));
}

}  // namespace

std::vector<MemoryLine> memory_lines(search::MemoryGuard& memory) {
  std::vector<MemoryLine> lines;
  const auto& model = memory.lines();
  for (const auto& group : model.groups()) {
    MemoryLine line{.group = group,
                    .peaks = model.peaks(group),
                    .out_of_memory = model.out_of_memory(group),
                    .limit_bytes = memory.limit_bytes(),
                    .line = model.coefficients(group)};
    if (memory.guards()) line.largest = model.largest(group, memory.limit_bytes());
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string to_text(const MemoryLine& line) {
  std::string text =
      line.line ? fmt::format("{} + {} an image", bytes_of(line.line->fixed_bytes), bytes_of(line.line->bytes_each))
                : "one batch size only: its growth is not known";
  if (!line.group.empty()) text += " (" + line.group + ")";
  if (line.largest) text += "; " + largest_text(line);
  if (line.out_of_memory > 0) text += fmt::format("; out of memory {} times", line.out_of_memory);
  return text;
}

nlohmann::json memory_json(const std::vector<MemoryLine>& lines) {
  auto document = nlohmann::json::array();
  for (const auto& line : lines) {
    nlohmann::json row = {{"group", line.group},     {"trials", line.peaks},  {"out_of_memory", line.out_of_memory},
                          {"fixed_bytes", nullptr},  {"bytes_each", nullptr}, {"limit_bytes", nullptr},
                          {"largest_batch", nullptr}};
    if (line.line) {
      row["fixed_bytes"] = line.line->fixed_bytes;
      row["bytes_each"] = line.line->bytes_each;
    }
    if (line.limit_bytes > 0) row["limit_bytes"] = line.limit_bytes;
    if (line.largest) {
      const auto end = [](std::int64_t batch) {
        return batch == MemoryModel::kUnbounded ? nlohmann::json(nullptr) : nlohmann::json(batch);
      };
      row["largest_batch"] = {{"expected", end(line.largest->expected)},
                              {"low", end(line.largest->lower)},
                              {"high", end(line.largest->upper)}};
    }
    document.push_back(std::move(row));
  }
  return document;
}

std::string memory_text(search::MemoryGuard& memory, space::Point point) {
  const auto need = memory.need(point);
  if (!need) return {};
  auto text =
      fmt::format("{} (90 %: {} to {})", bytes_of(need->expected), bytes_of(need->lower), bytes_of(need->upper));
  if (!memory.guards()) return text;
  const double fits = memory.fits(point);
  if (fits == 0) return text + fmt::format("; does not fit in {}, so it is not tried", bytes_of(memory.limit_bytes()));
  return text + fmt::format("; fits in {}{}", bytes_of(memory.limit_bytes()),
                            fits > 0.99 ? std::string() : fmt::format(" with a probability of {:.0f} %", 100 * fits));
}

}  // namespace nocturne::cli
