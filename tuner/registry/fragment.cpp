#include "tuner/registry/fragment.hpp"

#include <algorithm>
#include <utility>

#include "tuner/registry/registry_file.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

bool holds(const Fragment& fragment, const FragmentSubject& subject) {
  const auto is = [](const std::string& wanted, const std::string& given) { return wanted.empty() || wanted == given; };
  const bool application = fragment.application.empty() ||
                           std::ranges::find(subject.applications, fragment.application) != subject.applications.end();
  return application && is(fragment.infrastructure, subject.infrastructure) &&
         is(fragment.storage_class, subject.storage_class) && !(fragment.only_unmeasured && subject.measured) &&
         std::ranges::all_of(fragment.features.items(), [&](const auto& feature) {
           return feature.key() != "version" && subject.features.contains(feature.key()) &&
                  subject.features[feature.key()] == feature.value();
         });
}

int place_of(const Fragment& fragment) {
  const bool application = !fragment.application.empty();
  const bool infrastructure = !fragment.infrastructure.empty() || !fragment.storage_class.empty();
  if (!application) return 0;
  return (infrastructure ? 3 : 1) + (fragment.features.empty() ? 0 : 1);
}

}  // namespace

std::expected<Fragment, std::vector<Problem>> read_fragment(std::string_view text, const std::string& file,
                                                            const std::string& stem) {
  const auto read = read_registry_file(text, file, "fragment", stem);
  if (!read) return std::unexpected(read.error());
  const Json& document = read->value;
  const Json conditions = document.value("conditions", Json::object());
  const Json application = conditions.value("application", Json::object());
  const Json infrastructure = conditions.value("infrastructure", Json::object());
  return Fragment{.name = document["fragment"],
                  .description = document.value("description", ""),
                  .post = document["stage"] == "post",
                  .raw = document["raw"],
                  .only_unmeasured = document.value("only_unmeasured", false),
                  .application = application.value("name", ""),
                  .features = application.value("feature", Json::object()),
                  .infrastructure = infrastructure.value("name", ""),
                  .storage_class = infrastructure.value("storage_class", "")};
}

std::vector<Fragment> fragments_for(const std::vector<Fragment>& fragments, const FragmentSubject& subject) {
  std::vector<Fragment> holding;
  std::ranges::copy_if(fragments, std::back_inserter(holding),
                       [&](const Fragment& each) { return holds(each, subject); });
  std::ranges::stable_sort(holding, {}, place_of);
  std::vector<Fragment> result;
  for (Fragment& each : holding) {
    const bool known = std::ranges::any_of(
        result, [&](const Fragment& earlier) { return earlier.post == each.post && earlier.raw == each.raw; });
    if (!known) result.push_back(std::move(each));
  }
  return result;
}

}  // namespace nocturne::tuner
