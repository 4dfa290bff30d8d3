#pragma once

/// What runtimes and debootstrap print when an image cannot be made, into what is to be done about it.

#include <string>
#include <string_view>

namespace nocturne::measure {

/// The remedy, a half sentence for behind what was said; empty: the words are not known.
[[nodiscard]] std::string remedy_for_image(std::string_view output);

}  // namespace nocturne::measure
