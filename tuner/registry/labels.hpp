#pragma once

/// Typed labels: what a request is filtered by. Images of the registry, recipes of environments and images, and what
/// was measured carry the same.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/container/image_recipe.hpp"
#include "measure/environment/recipe.hpp"

namespace nocturne::tuner {

/// A value type.
struct Labels {
  enum class Kind { Framework, Application, MpiLibrary };
  Kind kind = Kind::Framework;
  std::string name;                            ///< tensorflow, cp2k, openmpi
  std::string version{};                       ///< "2.15", "latest"; empty: not known
  std::string source{};                        ///< hub, pip, opt-build, distribution, image; empty: not known
  std::optional<bool> opt_build{};             ///< built for a processor or an accelerator; empty: not known
  std::string cpu{};                           ///< x86, arm, amd, power; empty: any
  std::string accelerator{};                   ///< nvidia, amd, fpga, none; empty: any
  std::vector<std::string> graph_compilers{};  ///< that it trains with
  std::vector<std::string> offered{};          ///< that it has, too, and that may stay off
  std::map<std::string, std::string> has{};    ///< library → version, program → ""
  friend bool operator==(const Labels&, const Labels&) = default;
};

/// REQUIRES: the document is sound by the schema's definition `labels`. What it leaves out is as in `start`.
[[nodiscard]] Labels labels_from_json(const nlohmann::json& document, Labels start = {});
[[nodiscard]] nlohmann::json to_json(const Labels& labels);
/// "pytorch 1.5, opt-build, x86, nvidia, xla".
[[nodiscard]] std::string to_text(const Labels& labels);

/// From a name as recipes have it, "tensorflow-2.21-cuda".
[[nodiscard]] Labels labels_of_name(std::string_view framework);
/// From its key `labels`; what that leaves out from its name, source, needs and graph compilers.
[[nodiscard]] Labels labels_of(const measure::EnvironmentRecipe& recipe);
/// Empty: it has none.
[[nodiscard]] std::optional<Labels> labels_of(const measure::ImageRecipe& recipe);

}  // namespace nocturne::tuner
