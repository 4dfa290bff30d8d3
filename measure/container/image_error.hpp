#pragma once

/// What runtimes and debootstrap print when an image cannot be made, into what is to be done about it.

#include <string_view>

namespace nocturne::measure {

struct ImageError {
  std::string_view remedy;   ///< a half sentence for behind what was said; empty: the words are not known
  bool unreachable = false;  ///< the network was gone, or nobody answered
};
[[nodiscard]] ImageError image_error(std::string_view output);

}  // namespace nocturne::measure
