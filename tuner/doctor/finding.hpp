#pragma once

/// One thing that the doctor looked at.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::tuner {

enum class Health {
  Good,
  Note,      ///< works, with a limit or noise that is worth knowing
  Optional,  ///< missing; something that needs it cannot be tried
  Bad,       ///< no campaign can run
};

[[nodiscard]] std::string_view to_text(Health health);  ///< good, note, optional, bad

struct Diagnosis {
  std::string subject;  ///< "compilers"
  Health health = Health::Good;
  std::string found;                    ///< what is there
  std::string meaning{};                ///< what follows from it; empty where that is plain
  std::vector<std::string> packages{};  ///< Debian packages that would change it
};

/// Bytes in the unit in which the doctor speaks of room.
[[nodiscard]] constexpr double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024 * 1024);
}

/// No finding is bad.
[[nodiscard]] bool can_measure(const std::vector<Diagnosis>& findings);

/// "apt-get install a b", every package once, those of bad findings first; empty: none would help.
[[nodiscard]] std::string install_line(const std::vector<Diagnosis>& findings);

}  // namespace nocturne::tuner
