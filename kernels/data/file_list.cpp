#include "kernels/data/file_list.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace nocturne::data {
namespace {

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

}  // namespace

std::string folder_of(const std::string& folder, Split split) {
  if (folder.empty()) throw DataError("the folder of images is not named");
  std::string inner = folder + (split == Split::Train ? "/train" : "/val");
  if (has_classes(inner)) return inner;
  if (split == Split::Test) {
    throw UnsupportedData(folder + ": there is no folder 'val' with a folder for each class: accuracy cannot be told");
  }
  return folder;
}

std::vector<std::string> classes_in(const std::string& folder) {
  std::vector<std::string> names = names_in(folder, true);
  if (names.empty()) {
    throw DataError(folder + ": there is no class in it: each class is a folder of its own with JPEGs");
  }
  return names;
}

FileList FileList::read(const std::string& folder, const std::vector<std::string>& classes, bool skip_broken) {
  FileList list;
  list.classes_ = std::ssize(classes);
  list.folders_.resize(classes.size());
  for (const std::string& name : classes_in(folder)) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
      throw DataError(folder + "/" + name + ": there is no class of this name to train with");
    }
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
  if (labels_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw DataError(folder + ": with it there are more than 2147483647 images");
  }
}

std::string FileList::path(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::uint64_t begin = at == 0 ? 0 : ends_[at - 1];
  return folders_[static_cast<std::size_t>(labels_[at])] + "/" + names_.substr(begin, ends_[at] - begin);
}

}  // namespace nocturne::data
