#include "kernels/data/image_folder.hpp"

#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "kernels/data/crop.hpp"
#include "kernels/data/file_list.hpp"
#include "kernels/data/jpeg_file.hpp"
#include "kernels/data/resample.hpp"
#include "kernels/data/whole_file.hpp"

namespace nocturne::data {
namespace {

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
      const Decoded decoded = decode_jpeg(workspace.file, choose, shape_.width, shape_.height, workspace.pixels);
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
  if (!can_decode_jpeg()) {
    throw UnsupportedData("data = folder: this worker was built without libjpeg-turbo, which decodes images");
  }
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
