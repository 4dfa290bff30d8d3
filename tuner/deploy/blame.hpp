#pragma once

/// What changed on a machine between then and now, which of it can be set apart here, and what follows from measuring
/// that. Pure.
///
/// A machine has one kernel, one microcode, one driver at a time: these are named as candidate causes and cannot be
/// tested. Programs can be set apart while the old ones are still there: the build that was measured against the one
/// that would be made today, today's sources by the compiler of then, the environment of then against the present one.

#include <optional>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "measure/comparison/comparison.hpp"
#include "space/fingerprint.hpp"

namespace nocturne::deploy {

/// What a result was, or would be, measured with.
struct Circumstances {
  space::Fingerprint machine{};            ///< as many fields as are known
  std::string artifact{};                  ///< key of the build or environment; empty: neither
  std::optional<db::BuildRecord> build{};  ///< how that artifact was built; empty: not known
};

/// How a candidate cause can be set apart.
enum class Apart {
  No,
  Program,   ///< the old program, or the old environment's, beside the present one
  Compiler,  ///< the present sources by the compiler of then
  Together,  ///< it is part of the program, and is measured with it
};

struct CandidateCause {
  std::string name{};           ///< "program", "flags", "compiler", "packages", or a field of the fingerprint
  std::string before{}, now{};  ///< as people read them
  space::Match match = space::Match::Verify;
  Apart apart = Apart::No;
  std::string why_not{};  ///< why it cannot be set apart, a clause; empty: it can
  /// The present one as candidate against the old one: a gain below zero is a loss by the change. Empty: not measured.
  std::optional<measure::Comparison> measured{};
};

/// What is there to measure with.
struct Evidence {
  bool old_program = false;    ///< the program, or the environment's interpreter, of then still exists
  std::string old_compiler{};  ///< name or path of an installed compiler of the version of then; empty: none
};

/// Everything that differs, the program first, then by name. Fields that only explain are left out, but for the
/// compilers where the program was built by one.
[[nodiscard]] std::vector<CandidateCause> candidate_causes(const Circumstances& then, const Circumstances& now,
                                                           const Evidence& evidence);

/// Packages that differ, in words: "numpy 1.26.0 is 2.1.0, scipy is gone". Both as "name==version", ascending.
[[nodiscard]] std::string package_changes(const std::vector<std::string>& before, const std::vector<std::string>& now);

struct Blame {
  bool told = false;                    ///< there is an answer: a culprit, or that nothing became slower
  std::string sentence{};               ///< without full stop
  std::vector<std::string> culprits{};  ///< names of candidate causes whose whole interval is a loss
};

/// `change`: of the time against then, ln(T_now / T_then), and what between-process spread explains of that; empty: not
/// known.
struct WholeChange {
  double log_ratio = 0;
  double explained = 0;
};
[[nodiscard]] Blame conclude(const std::vector<CandidateCause>& causes, const std::optional<WholeChange>& change);

}  // namespace nocturne::deploy
