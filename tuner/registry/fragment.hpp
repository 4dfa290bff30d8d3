#pragma once

/// Lines of a shell that go into a job script where their conditions hold: one file each.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

/// A value type.
struct Fragment {
  std::string name, description;
  bool post = false;                                   ///< behind the application, else before it
  std::string raw;                                     ///< lines of a POSIX shell
  bool only_unmeasured = false;                        ///< left out where a measured profile trains
  std::string application;                             ///< empty: any
  nlohmann::json features = nlohmann::json::object();  ///< of the application: key → value
  std::string infrastructure, storage_class;           ///< empty: any
};

[[nodiscard]] std::expected<Fragment, std::vector<Problem>> read_fragment(std::string_view text,
                                                                          const std::string& file,
                                                                          const std::string& stem);

/// What a job is, as far as fragments ask.
struct FragmentSubject {
  std::vector<std::string> applications;               ///< its names: app_tag, framework, MPI library
  nlohmann::json features = nlohmann::json::object();  ///< of its section; `version` is never one
  std::string infrastructure, storage_class;
  bool measured = false;
};

/// Those whose conditions hold, in the order: infrastructure alone, application, application with features, both, both
/// with features; within one the order of `fragments`. Of equal lines of one stage the first stays.
[[nodiscard]] std::vector<Fragment> fragments_for(const std::vector<Fragment>& fragments,
                                                  const FragmentSubject& subject);

}  // namespace nocturne::tuner
