#pragma once

/// How many: an exact count up to 2¹²⁸ - 1, and the size of a space, which may be more, estimated, or infinite.

#include <compare>
#include <cstdint>
#include <string>

namespace nocturne::space {

/// Unsigned, 128 bits. Sums and products that do not fit stay at the largest value and say so: is_saturated().
class Count {
 public:
  __extension__ using Bits = unsigned __int128;

  constexpr Count() = default;
  constexpr Count(std::uint64_t value) : bits_(value) {}  // NOLINT: a number is a count
  static constexpr Count from_bits(Bits bits) { return Count(bits, 0); }

  [[nodiscard]] constexpr Bits bits() const { return bits_; }
  [[nodiscard]] constexpr bool is_saturated() const { return bits_ == ~Bits{0}; }
  [[nodiscard]] double to_double() const { return static_cast<double>(bits_); }
  /// All digits: "1000000"; where saturated "more than 3.4e38".
  [[nodiscard]] std::string to_text() const;

  friend constexpr Count operator+(Count a, Count b) {
    const Bits sum = a.bits_ + b.bits_;
    return from_bits(sum < a.bits_ ? ~Bits{0} : sum);
  }
  friend constexpr Count operator*(Count a, Count b) {
    if (a.bits_ != 0 && b.bits_ > ~Bits{0} / a.bits_) return from_bits(~Bits{0});
    return from_bits(a.bits_ * b.bits_);
  }
  friend constexpr bool operator==(Count, Count) = default;
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  constexpr Count(Bits bits, int) : bits_(bits) {}
  Bits bits_ = 0;
};

/// The number of configurations of a space.
struct Size {
  enum class Kind { Exact, Estimate, Infinite };
  Kind kind = Kind::Exact;
  Count count;                ///< Exact
  double approximate = 0;     ///< Exact, Estimate: the number as a double, also where count is saturated
  double standard_error = 0;  ///< Estimate: of approximate

  /// "1000000", "about 3.2e+11 (± 1 %)", "infinite".
  [[nodiscard]] std::string to_text() const;
};

}  // namespace nocturne::space
