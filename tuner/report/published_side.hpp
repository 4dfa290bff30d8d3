#pragma once

/// One side of a published result, and which configurations are one: by what their framework is labelled with
/// (tuner/registry/labels.hpp), not by what somebody calls it. Pure.

#include <expected>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"
#include "space/space.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/registry/labels.hpp"

namespace nocturne::report {

/// Labels by the value of the parameter `framework`; one that is not there is labelled by its name.
using FrameworkLabels = std::map<std::string, tuner::Labels, std::less<>>;
[[nodiscard]] FrameworkLabels framework_labels(const tuner::Frameworks& frameworks);

/// A value type. What is empty is free, and equal on both sides.
struct PublishedSide {
  std::string framework, version;  ///< "tensorflow", "2.1"
  std::string source;              ///< hub, pip, distribution, opt-build
  std::string has, lacks;          ///< a library or graph compiler that comes with it
  bool on_gpu = false;             ///< what can compute on none is not chosen
  bool in_container = false;       ///< any but the host: what a hub has, and what that is compared with
  space::Configuration settings;   ///< values of other parameters; "none" also where there is no such parameter
  friend bool operator==(const PublishedSide&, const PublishedSide&) = default;

  /// "tensorflow 2.1, hub": its labels.
  [[nodiscard]] std::string text() const;
};

/// {"framework": "tensorflow", "version": "2.1", "graph_compiler": "xla"}: labels, and every other key a parameter.
[[nodiscard]] std::expected<PublishedSide, std::string> read_side(const nlohmann::json& document);

/// Labels of what trains the configuration. `source` is that of the parameter where there is one.
[[nodiscard]] tuner::Labels labels_of(const space::Configuration& configuration, const FrameworkLabels& known);

/// Whether it has the side's labels and settings.
[[nodiscard]] bool is_side(const PublishedSide& side, const space::Configuration& configuration,
                           const FrameworkLabels& known);

/// Whether two configurations differ in nothing but what tells the two sides apart, and what that activates.
[[nodiscard]] bool differ_as_sides(const PublishedSide& reference, const PublishedSide& candidate,
                                   const space::Configuration& first, const space::Configuration& second,
                                   const FrameworkLabels& known);

/// The value of `framework` that has the side's labels: one of the space's where one is given and has some, else the
/// first by name. Empty: nothing here is labelled so.
[[nodiscard]] std::string framework_of(const PublishedSide& side, const FrameworkLabels& known,
                                       const space::Space* space = nullptr);

/// The side as words of a command line: "framework=tensorflow-1.14,graph_compiler=none". Where a space is given,
/// without those that are 'none' of parameters it does not have. A framework that is free is not named; what nothing
/// here is labelled as is named by its labels: "framework=tensorflow-2.1,source=hub". Of containers it is the first
/// that the space allows.
[[nodiscard]] std::string side_words(const PublishedSide& side, const FrameworkLabels& known,
                                     const space::Space* space = nullptr);

}  // namespace nocturne::report
