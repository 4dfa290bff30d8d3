#pragma once

/// `--set POINTER=VALUE`: one value of a campaign file, given on the command line.

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {

struct Setting {
  std::string pointer;   ///< RFC 6901, such as "/budget/wall"; in a list of parameters a name may stand for the number
  nlohmann::json value;  ///< null: the key is removed
};

/// "/budget/wall=1h": what stands behind the first '=' is JSON where it can be read as such, else a text. The error is
/// a sentence.
[[nodiscard]] std::expected<Setting, std::string> read_setting(std::string_view words);

/// Lays it over the document: objects on the way are made, elements of lists must be there. Problems with the value are
/// said to be those of "--set". The error is a sentence.
[[nodiscard]] std::expected<void, std::string> apply_setting(const Setting& setting, Document& document);

}  // namespace nocturne::tuner
