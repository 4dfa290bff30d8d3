#pragma once

/// What can answer a request without a measurement: environments that are installed here, images of the registry,
/// recipes.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/image_recipe.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/registry/registry.hpp"
#include "tuner/request/job_request.hpp"

namespace nocturne::tuner {

/// A value type.
struct Offer {
  /// What is here comes before what must be fetched, and that before what must be installed.
  enum class Kind { Installed, Image, Recipe };
  Kind kind = Kind::Image;
  std::string name;
  Labels labels;
  std::string container{};              ///< "docker://…", or a path; empty: none
  std::string environment{};            ///< folder of an environment that is installed; empty: none
  bool has_python = false;              ///< an environment's, which is put in front of PATH
  std::vector<std::string> packages{};  ///< of PyPI, which build.sh installs
  std::optional<Scaling> scaling{};
  std::string missing{}, plug_in{};  ///< as in Image
};

/// Images of the registry, the recipes of environments, and the recipes of images that have labels.
[[nodiscard]] std::vector<Offer> offers_of(const Registry& registry, const Frameworks& frameworks,
                                           const std::vector<measure::ImageRecipe>& images);

/// "image modak-pytorch-1.5-cpu-pip", "environment tensorflow-2.1".
[[nodiscard]] std::string title_of(const Offer& offer);

/// Whether a version is in a range: "2.1" means 2.1.*, ">=2,<3" each of its bounds. An unknown one is in none.
[[nodiscard]] bool is_version_in(std::string_view version, std::string_view range);

/// Why labels are not what is demanded of what trains, a sentence without a full stop; empty: they are. Of an image
/// also: whether it is the one that is asked for, and an optimised build.
[[nodiscard]] std::string mismatch(const Labels& labels, const Demands& demands);
[[nodiscard]] std::string mismatch(const Offer& offer, const Demands& demands);
/// Whether it is of the framework, application or library that is asked for, whatever else it lacks.
[[nodiscard]] bool is_asked_for(const Offer& offer, const Demands& demands);

/// Of two that fit, the one that comes first: what is here; then what was built for the processor that is named, or
/// for any where none is; the accelerator that is named, or none; then the newer version. Without evidence no speed is
/// claimed.
[[nodiscard]] bool comes_before(const Offer& left, const Offer& right, const Demands& demands);

}  // namespace nocturne::tuner
