#pragma once

/// Whether text can stand in a JSON document as it is.

#include <string>
#include <string_view>

namespace nocturne::tuner {

/// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

/// `text` with each byte outside printable ASCII as \xNN, and the backslash doubled: what it is can be seen.
[[nodiscard]] std::string escaped_bytes(std::string_view text);

}  // namespace nocturne::tuner
