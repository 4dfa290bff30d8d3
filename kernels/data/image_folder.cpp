#include "kernels/data/image_folder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/jpeg_file.hpp"
#include "kernels/data/resample.hpp"
#include "kernels/data/whole_file.hpp"

namespace nocturne::data {
namespace {

// Which images a folder has.

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

namespace fs = std::filesystem;

bool is_jpeg_name(std::string_view name) {
  const auto ends_in = [&](std::string_view extension) {
    return name.size() > extension.size() &&
           std::ranges::equal(name.substr(name.size() - extension.size()), extension,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
  };
  return ends_in(".jpg") || ends_in(".jpeg");
}

// Names of the folders, or of everything else, in FOLDER; sorted; none that begins with a dot.
std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) throw DataError(folder + ": cannot be read: " + error.message());
  std::vector<std::string> names;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    std::string name = entries->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;  // a link that leads nowhere is no folder
    if (entries->is_directory(ignored) == folders) names.push_back(std::move(name));
  }
  if (error) throw DataError(folder + ": cannot be read: " + error.message());
  std::ranges::sort(names);
  return names;
}

bool has_classes(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && !names_in(folder, true).empty();
}

/// The folder that has the split's classes: FOLDER/train, FOLDER/val, or for training FOLDER itself where there is no
/// FOLDER/train with folders in it. Throws UnsupportedData where there is nothing to test with.
std::string folder_of(const std::string& folder, Split split) {
  if (folder.empty()) throw DataError("the folder of images is not named");
  std::string inner = folder + (split == Split::Train ? "/train" : "/val");
  if (has_classes(inner)) return inner;
  if (split == Split::Test)
    throw UnsupportedData(folder + ": there is no folder 'val' with a folder for each class: accuracy cannot be told");
  return folder;
}

/// Names of the folders in FOLDER, in the order of their bytes: the classes. Throws DataError where there is none.
std::vector<std::string> classes_in(const std::string& folder) {
  std::vector<std::string> names = names_in(folder, true);
  if (names.empty())
    throw DataError(folder + ": there is no class in it: each class is a folder of its own with JPEGs");
  return names;
}

FileList FileList::read(const std::string& folder, const std::vector<std::string>& classes, bool skip_broken) {
  FileList list;
  list.classes_ = std::ssize(classes);
  list.folders_.resize(classes.size());
  for (const std::string& name : classes_in(folder)) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name)
      throw DataError(folder + "/" + name + ": there is no class of this name to train with");
    list.add_class(folder + "/" + name, static_cast<std::int32_t>(found - classes.begin()), skip_broken);
  }
  return list;
}

void FileList::add_class(const std::string& folder, std::int32_t label, bool skip_broken) {
  const std::size_t before = labels_.size();
  folders_[static_cast<std::size_t>(label)] = folder;
  for (const std::string& name : names_in(folder, false)) {
    if (!is_jpeg_name(name)) {
      if (!skip_broken) {
        throw DataError(folder + "/" + name +
                        ": is no JPEG by its name (.jpg, .jpeg); remove it, or have it left out "
                        "with skip_broken");
      }
      ++left_out_;
      continue;
    }
    names_ += name;
    ends_.push_back(names_.size());
    labels_.push_back(label);
  }
  if (labels_.size() == before) throw DataError(folder + ": there is no JPEG in it");
  if (labels_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw DataError(folder + ": with it there are more than 2147483647 images");
}

std::string FileList::path(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::uint64_t begin = at == 0 ? 0 : ends_[at - 1];
  return folders_[static_cast<std::size_t>(labels_[at])] + "/" + names_.substr(begin, ends_[at] - begin);
}

// Mean and deviation of ImageNet's training images, each channel from 0 to 1: the figures everybody trains with.
Scaling normalising(float mean, float deviation) {
  return {.factor = 1.0F / (255.0F * deviation), .offset = -mean / deviation};
}

class ImageFolder final : public ImageSource {
 public:
  ImageFolder(FileList files, const SourceOptions& options)
      : files_(std::move(files)),
        shape_(options.image),
        seed_(options.seed),
        random_crops_(options.split == Split::Train && options.shuffle),
        channels_last_(options.channels_last),
        skip_broken_(options.skip_broken),
        skipped_(files_.left_out()) {}

  std::int64_t count() const override { return files_.count(); }
  bool stored() const override { return false; }
  std::span<const Scaling> scaling() const override { return scaling_; }
  std::int64_t skipped() const override { return skipped_.load(std::memory_order_relaxed); }

  Image make(std::int64_t index, std::int64_t epoch, std::uint8_t* into, Workspace& workspace) override {
    for (std::int64_t tries = 0; tries < count(); ++tries) {
      const std::int64_t at = (index + tries) % count();
      const std::optional<std::string> wrong = try_to_make(at, epoch, into, workspace);
      if (!wrong) return {.bytes = into, .label = files_.label(at)};
      if (!skip_broken_) throw DataError(*wrong);
      skipped_.fetch_add(1, std::memory_order_relaxed);
    }
    throw DataError(files_.path(index) + ": neither it nor any other image can be decoded");
  }

 private:
  // Returns what is wrong with the file.
  std::optional<std::string> try_to_make(std::int64_t index, std::int64_t epoch, std::uint8_t* into,
                                         Workspace& workspace) const {
    const std::string path = files_.path(index);
    const auto choose = [&](std::int64_t width, std::int64_t height) {
      return random_crops_ ? random_crop(width, height, seed_, epoch, index)
                           : middle_crop(width, height, shape_.width, shape_.height);
    };
    try {
      read_whole_file(path, workspace.file);
      const DecodedPicture decoded = decode_jpeg(workspace.file, choose, shape_.width, shape_.height, workspace.pixels);
      resample(decoded.picture, decoded.region, shape_.width, shape_.height, channels_last_, into, workspace.rows);
    } catch (const BrokenImage& error) {
      return path + ": cannot be decoded as JPEG: " + error.what() + "; replace it, or have such files skipped with " +
             "skip_broken";
    } catch (const DataError& error) {
      return error.what();
    }
    return std::nullopt;
  }

  FileList files_;
  networks::Shape shape_;
  std::uint64_t seed_;
  bool random_crops_, channels_last_, skip_broken_;
  std::array<Scaling, 3> scaling_ = {normalising(0.485F, 0.229F), normalising(0.456F, 0.224F),
                                     normalising(0.406F, 0.225F)};
  std::atomic<std::int64_t> skipped_;
};

}  // namespace

std::unique_ptr<ImageSource> open_image_folder(const SourceOptions& options) {
  if (!can_decode_jpeg())
    throw UnsupportedData("data = folder: this worker was built without libjpeg-turbo, which decodes images");
  if (options.image.channels != 3) {
    throw UnsupportedData("data = folder: its images have 3 channels, the network reads " +
                          std::to_string(options.image.channels));
  }
  const std::string folder = folder_of(options.folder, options.split);
  const std::string trained = folder_of(options.folder, Split::Train);
  FileList files = FileList::read(folder, classes_in(trained), options.skip_broken);
  if (files.classes() > options.classes) {
    throw DataError(trained + ": it has " + std::to_string(files.classes()) + " classes, the network has " +
                    std::to_string(options.classes));
  }
  return std::make_unique<ImageFolder>(std::move(files), options);
}

}  // namespace nocturne::data
