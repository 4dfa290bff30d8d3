#pragma once

/// What `nocturne env check --thorough` found, as a table and as JSON. Pure.

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/training_check/training_check.hpp"

namespace nocturne::cli {

/// One environment in one way of training.
struct CheckedRow {
  std::string name;
  space::Configuration varied;  ///< what --vary says of this row
  tuner::CheckedTraining found;
  std::chrono::nanoseconds took{};
};

/// "pytorch-2.15, graph_compiler=inductor": the environment and what it was varied in.
[[nodiscard]] std::string checked_row_name(const CheckedRow& row);
/// A row for each, and below it the reasons of those that are not right.
void print_checked_rows(const Context& context, const std::vector<CheckedRow>& rows);
[[nodiscard]] nlohmann::json checked_rows_json(const std::vector<CheckedRow>& rows);

}  // namespace nocturne::cli
