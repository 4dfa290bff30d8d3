#pragma once

/// Which images a folder has.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/data/batch_source.hpp"

namespace nocturne::data {

/// Paths of a million images in a few tens of megabytes: each class's folder once, names one after another.
class FileList {
 public:
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(labels_.size()); }
  [[nodiscard]] std::string path(std::int64_t index) const;
  [[nodiscard]] std::int32_t label(std::int64_t index) const { return labels_[static_cast<std::size_t>(index)]; }
  /// Files that are no images by their names and were left out.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }
  /// Their numbers are below it.
  [[nodiscard]] std::int64_t classes() const { return classes_; }

  /// Lists FOLDER/CLASS/NAME. `classes`: their names, numbered in this order; FOLDER may lack some. Throws DataError
  /// naming the folder or file; files that are no images by their names are left out with `skip_broken`.
  static FileList read(const std::string& folder, const std::vector<std::string>& classes, bool skip_broken);

 private:
  void add_class(const std::string& folder, std::int32_t label, bool skip_broken);

  std::int64_t classes_ = 0;
  std::vector<std::string> folders_;  ///< by label; empty where there is none
  std::string names_;                 ///< names of all images, without anything between
  std::vector<std::uint64_t> ends_;   ///< end of each name in names_
  std::vector<std::int32_t> labels_;
  std::int64_t left_out_ = 0;
};

/// Names of the folders in FOLDER, in the order of their bytes: the classes. Throws DataError where there is none.
[[nodiscard]] std::vector<std::string> classes_in(const std::string& folder);

/// The folder that has the split's classes: FOLDER/train, FOLDER/val, or for training FOLDER itself where there is no
/// FOLDER/train with folders in it. Throws UnsupportedData where there is nothing to test with.
[[nodiscard]] std::string folder_of(const std::string& folder, Split split);

}  // namespace nocturne::data
