#pragma once

/// What `--json` printed is the document that it says it is: no key too many, none too few.

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "tuner/cli/output/json.hpp"

namespace nocturne::test {

/// `words`: of the command line; nothing is checked where they ask for no document. An error may print none.
inline void check_document(const std::vector<std::string>& words, const std::string& out) {
  const auto end = std::ranges::find(words, "--");
  const auto has = [&](const char* word) { return std::find(words.begin(), end, word) != end; };
  const bool other_format = has("--help") || has("schema") || (has("--output") && has("-"));
  if (!has("--json") || other_format || out.empty()) return;
  const auto document = nlohmann::json::parse(out, nullptr, false);
  if (document.is_discarded()) FAIL("not JSON: " << out);
  const auto found = cli::deviations(document);
  for (const std::string& each : found) UNSCOPED_INFO(each);
  INFO(out);
  CHECK(found.empty());
}

}  // namespace nocturne::test
