#pragma once

/// What Kernel Tuner and its peers write: cache files, T4 results, T1 problems.
///
/// Cache file: {"kernel_name", "device_name", "objective", "tune_params_keys": [names], "tune_params": {name:
/// [values]}, "cache": {"16,1": {name: value, …, "time": 3.87, "times": […], "compile_time", "verification_time",
/// "benchmark_time"}}}; the objective of a failed one is a text such as "CompilationFailedConfig". While it tunes,
/// Kernel Tuner leaves the two last braces out.
///
/// T4 results (https://github.com/odgaard/TuningSchema, results-schema.json 1.0.0): {"results": [{"configuration",
/// "invalidity", "measurements": [{"name", "value", "unit"}], "objectives": [name], "times": {…, "runtimes"}}]}.
///
/// T1 problem (the same source, TuningSchema.json): {"ConfigurationSpace": {"TuningParameters": [{"Name", "Type",
/// "Values"}], "Conditions": [{"Parameters", "Expression"}]}}. Values are the text of a Python list
/// (python_values.hpp), expressions are Python's; both are parsed by us and never executed.

#include <expected>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// Which format a document is.
enum class Format { Cache, Results, Problem, Hyperfine, Unknown };
[[nodiscard]] Format format_of(const nlohmann::json& document);

/// Parses what Python wrote: a file of any of these formats, also a cache that was never closed.
[[nodiscard]] std::expected<nlohmann::json, std::string> read_python_json(const std::filesystem::path& file);

/// The rows alone are valid: a cache does not know the restrictions of its space.
[[nodiscard]] std::expected<RecordedSpace, std::string> load_cache(const nlohmann::json& document,
                                                                   const std::filesystem::path& file);
/// The rows alone are valid; the values of each parameter are those that occur.
[[nodiscard]] std::expected<RecordedSpace, std::string> load_results(const nlohmann::json& document,
                                                                     const std::filesystem::path& file);
/// Values and conditions of the problem, measurements of the results or cache.
[[nodiscard]] std::expected<RecordedSpace, std::string> load_problem(const nlohmann::json& problem,
                                                                     const std::filesystem::path& problem_file,
                                                                     const nlohmann::json& results,
                                                                     const std::filesystem::path& results_file);

}  // namespace nocturne::search::replay
