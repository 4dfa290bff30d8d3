#include "space/count.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nocturne::space {

std::string Count::to_text() const {
  if (is_saturated()) return "more than 3.4e38";
  std::string digits;
  Bits rest = bits_;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  std::ranges::reverse(digits);
  return digits;
}

std::string Size::to_text() const {
  switch (kind) {
    case Kind::Infinite:
      return "infinite";
    case Kind::Exact:
      return count.is_saturated() ? fmt::format("{:.3g}", approximate) : count.to_text();
    case Kind::Estimate:
      break;
  }
  if (approximate <= 0) return "none found";
  return fmt::format("about {:.3g} (± {:.2g} %)", approximate, 100 * standard_error / approximate);
}

}  // namespace nocturne::space
