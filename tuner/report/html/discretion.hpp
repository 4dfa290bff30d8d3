#pragma once

/// What a page that is handed on leaves out: values of environment variables, words that look like tokens or
/// passwords, and names of users and hosts. Pure.
///
/// It errs on the side of leaving out. What a space varies is its result and stays, variables among it.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::report {

/// Whom a page may name without meaning to.
struct Names {
  std::vector<std::string> users;
  std::vector<std::string> hosts;
  std::string home;                               ///< the user's folder, which becomes "~"; empty: not known
  std::set<std::string, std::less<>> parameters;  ///< names whose values are results
};

class Discretion {
 public:
  Discretion() = default;  ///< leaves out nothing
  explicit Discretion(Names names) : names_(std::move(names)), discreet_(true) {}

  [[nodiscard]] bool discreet() const { return discreet_; }
  /// `text` with "…" for each value and word, "(user)" and "(host)" for names.
  [[nodiscard]] std::string text(std::string_view text) const;
  /// Each text of a document, but no key: what reads the document knows it by those.
  [[nodiscard]] nlohmann::json document(nlohmann::json document) const;

 private:
  Names names_;
  bool discreet_ = false;
};

}  // namespace nocturne::report
