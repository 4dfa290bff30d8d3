#pragma once

/// A container's image that is known by its labels, whether or not anything was measured in it: one file each.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/campaign_file/problem.hpp"
#include "tuner/registry/labels.hpp"

namespace nocturne::tuner {

/// How an application's time falls with its ranks.
struct Scaling {
  enum class Model { Amdahl, Max, Noop };
  Model model = Model::Noop;
  double parallel_fraction = 0;  ///< Amdahl's F, 0 to 1
  std::optional<std::int64_t> most_ranks, most_threads;
};

/// A value type.
struct Image {
  std::string name;
  std::string row;  ///< of the catalogue it is from, where that is not its name
  Labels labels;
  std::string container;              ///< "docker://owner/name:tag", or a path; empty: there is none
  std::vector<std::string> packages;  ///< of PyPI, where no image has it
  std::optional<Scaling> scaling{};
  std::string missing;  ///< what it takes that does not exist; empty: nothing
  std::string plug_in;  ///< how a build of one's own takes that place
  std::string note;     ///< what is known of it, and what was corrected
  std::string from;     ///< who says so
};

[[nodiscard]] std::expected<Image, std::vector<Problem>> read_image(std::string_view text, const std::string& file,
                                                                    const std::string& stem);

/// A recipe of an image that has labels; empty: it has none. What is made here has no name on a hub.
[[nodiscard]] std::optional<Image> image_of(const measure::ImageRecipe& recipe);

/// "docker://modakopt/modak:pytorch-1.5" → "modak_pytorch-1.5.sif"; a path stays.
[[nodiscard]] std::string singularity_file(std::string_view container);

}  // namespace nocturne::tuner
