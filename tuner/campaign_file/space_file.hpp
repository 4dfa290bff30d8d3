#pragma once

/// A space file: what `nocturne ask` searches for whoever measures it himself. A campaign file without what only
/// concerns trainings: `space` and `strategy` are the same sections (a parameter needs no `stage` here), `objective`
/// says which values are better.
///
///   {"objective": {"direction": "maximise", "scale": "linear"},
///    "space": {"parameters": [{"name": "depth", "range": [1, 12]}, {"name": "rate", "range": [0.001, 0.5]}]}}

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/rescaled_search.hpp"
#include "space/facts.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

struct SpaceFile {
  std::string name;  ///< `campaign`, else "search"
  space::Space space;
  search::ValueRule values;
  StrategyChoice strategy;
  nlohmann::json document;    ///< as it is stored, readable as any campaign's: `extends` gone, kStoredMachine in it
  std::string identity_json;  ///< of what must be equal where a search goes on: space, facts in use and objective
};

/// Its JSON Schema (draft-07), made from that of campaign files; ends with a newline.
[[nodiscard]] std::string_view space_file_schema();

/// Reads and checks it. `facts` are what constraints may name.
[[nodiscard]] std::expected<SpaceFile, std::vector<Problem>> load_space_file(const std::filesystem::path& path,
                                                                             const space::Facts& facts);

/// How a stored search judges its values. Empty: the document is a campaign's, which minimises a time.
[[nodiscard]] std::optional<search::ValueRule> stored_value_rule(const nlohmann::json& document);

}  // namespace nocturne::tuner
