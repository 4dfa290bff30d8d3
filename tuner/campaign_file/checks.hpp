#pragma once

/// Collects the problems of one document while its sections are read.

#include <string>
#include <string_view>
#include <vector>

#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {

/// The sections are read one after the other, each as far as the schema found it sound, so that one reading reports
/// everything. `document` must outlive it.
class Checks {
 public:
  explicit Checks(const Document& document) : document_(document) {}

  [[nodiscard]] const Document& document() const { return document_; }
  [[nodiscard]] const nlohmann::json& root() const { return document_.value; }

  void add(std::string_view pointer, std::string found, std::string allowed = {}, std::string nearest = {},
           At at = At::Value);
  void add(Problem problem) { problems_.push_back(std::move(problem)); }

  /// No problem so far at `pointer` or inside it.
  [[nodiscard]] bool sound(std::string_view pointer) const;

  /// The value of a key, or null where it is absent or has a problem. REQUIRES: `section` is an object where sound.
  [[nodiscard]] const nlohmann::json* get(std::string_view section, std::string_view key) const;

  [[nodiscard]] bool empty() const { return problems_.empty(); }
  /// In the order of files and lines.
  [[nodiscard]] std::vector<Problem> take();

 private:
  const Document& document_;
  std::vector<Problem> problems_;
  std::vector<std::string> pointers_;  ///< into the document, one a problem of add(pointer, …)
};

}  // namespace nocturne::tuner
