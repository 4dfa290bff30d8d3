#pragma once

/// What a machine can do at best, as kernels/machine measured it (its README has the JSON). Values; no clock, no file.
///
/// A bound wants the most that was seen, so rates are the maxima of the repeats, not their medians.

#include <cstdint>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/fingerprint.hpp"
#include "tuner/roofline/programs.hpp"

namespace nocturne::tuner {

/// One measurement.
struct Figure {
  std::string name;  ///< fma_f32, triad, triad_l2, latency, disk_write, …
  std::string unit;  ///< GFLOP/s, GB/s, ns
  std::string kernel;
  int threads = 1;
  double median = 0, minimum = 0, maximum = 0;
  double relative_spread = 0;  ///< interquartile range / median
  std::int64_t working_set_bytes = 0;
  int node = -1, memory_node = -1;  ///< NUMA nodes of cores and of memory; -1: any
  std::string absent;               ///< why it was not measured; empty: it was
  int tries = 1;                    ///< how often it was measured: these are the best
  std::string doubt{};              ///< why it may be too low, a clause; empty: it may be true
};

struct CacheFigure {
  int level = 0;
  std::int64_t bytes = 0;  ///< size of one
  int sharers = 1;         ///< CPUs that share one
};

struct GpuFigures {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::vector<Figure> figures;
};

struct MachineFigures {
  int cpus = 0;                     ///< that were used by all threads together
  std::vector<CacheFigure> caches;  ///< nearest first
  std::vector<Figure> figures;
  std::vector<GpuFigures> gpus;
  bool is_gpu = false;     ///< made by of_gpu()
  bool has_tiles = false;  ///< the processor multiplies bf16 in AMX tiles, whether these were measured or not

  /// The error is a sentence: it is not what nocturne-machine prints, or it lacks an f32 peak. `fields` of the
  /// fingerprint say what the processor has.
  [[nodiscard]] static std::expected<MachineFigures, std::string> from_json(const nlohmann::json& document,
                                                                            const nlohmann::json& fields = {});

  /// What `threads` (0: all) reach together, in GFLOP/s or GB/s: that of one thread times their number, at most that of
  /// all. Empty: not measured.
  [[nodiscard]] std::optional<double> rate(std::string_view name, int threads) const;

  /// Bytes that `threads` (0: all), as far apart as can be, have of the cache caches[index].
  [[nodiscard]] double cache_bytes(std::size_t index, int threads) const;

  /// One of the GPUs as a machine of its own: one thread, no caches.
  [[nodiscard]] MachineFigures of_gpu(std::size_t index) const;
};

/// The fields of a fingerprint that decide what the machine can do: processor, microcode, caches, memory, kernel,
/// clocks, GPUs, and the CPUs this process may use. Name to value.
[[nodiscard]] nlohmann::json figure_fields(const space::Fingerprint& fingerprint);

/// Digest of these: what figures are stored by.
[[nodiscard]] std::string figures_key(const space::Fingerprint& fingerprint);

// Stored figures of a machine that were doubtful when they were measured (kernels/machine/plausibility.hpp), and what
// measuring them again makes of them. Documents are those of kernels/machine/README.md, "JSON".

/// Names of doubtful figures, each once: "fma_f32"; those, too, that were measured before doubts were noted (they have
/// no `tries`) and have an arithmetic peak of several threads hardly above that of one. Empty where `figures` is no
/// such document.
[[nodiscard]] std::vector<std::string> doubted_names(const nlohmann::json& figures);

/// `stored` with what was measured again. A rate is a maximum, so the higher one stays; `tries` are added. One that was
/// doubtful and comes again, within a tenth, is what the machine gives: its doubt becomes `confirmed`. Others keep
/// their doubt. Latencies stay as they are.
[[nodiscard]] nlohmann::json with_measured_again(nlohmann::json stored, const nlohmann::json& again);

/// What was just measured, its doubtful figures held against an earlier measurement of the same machine.
[[nodiscard]] nlohmann::json settled_by_earlier(nlohmann::json measured, const nlohmann::json& earlier);

/// Measures the doubtful ones alone, about two seconds each; `measuring` says where and how, but not for how long.
/// `stored` as it is where there is none. The error is a sentence.
[[nodiscard]] std::expected<nlohmann::json, std::string> measure_doubted(const nlohmann::json& stored,
                                                                         MachineMeasuring measuring,
                                                                         const std::stop_token& stop = {});

}  // namespace nocturne::tuner
