#include "tuner/request/offer.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty() && is_digit(version.front())) {
    int number = 0;
    const auto end = std::from_chars(version.data(), version.data() + version.size(), number).ptr;
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return numbers;
}

/// What is not there is 0, as in PEP 440.
int order(std::vector<int> version, std::vector<int> bound) {
  const std::size_t most = std::max(version.size(), bound.size());
  version.resize(most);
  bound.resize(most);
  return version < bound ? -1 : version > bound ? 1 : 0;
}

/// 2.1 is 2.1.*; a name that says 2.1 does not say which 2.1 it is.
bool begins_with(const std::vector<int>& version, const std::vector<int>& prefix) {
  return version.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), version.begin());
}

bool holds(const std::vector<int>& version, std::string_view bound) {
  const std::size_t first = std::min(bound.find_first_not_of(' '), bound.size());
  const std::size_t digits = bound.find_first_of("0123456789");
  if (digits == std::string_view::npos) return false;
  const std::vector<int> wanted = numbers_of(bound.substr(digits));
  std::string_view sign = bound.substr(first, digits - first);
  sign = sign.substr(0, sign.find(' '));
  if (sign == ">=") return order(version, wanted) >= 0;
  if (sign == "<=") return order(version, wanted) <= 0;
  if (sign == ">") return order(version, wanted) > 0;
  if (sign == "<") return order(version, wanted) < 0;
  return begins_with(version, wanted) == (sign != "!=");
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string wrong_compiler(std::string_view compiler, std::optional<bool> wanted, const Labels& labels) {
  if (!wanted) return {};
  const bool on = has(labels.graph_compilers, compiler);
  if (*wanted && !on && !has(labels.offered, compiler))
    return fmt::format("it is without {}, which is demanded", compiler);
  return !*wanted && on ? fmt::format("it is with {}, which is denied", compiler) : std::string();
}

std::string wrong_version(const std::string& version, const std::string& range) {
  if (range.empty() || is_version_in(version, range)) return {};
  return version.empty() ? fmt::format("its version is not known, and {} is demanded", range)
                         : fmt::format("it is version {}, and {} is demanded", version, range);
}

/// An AMD processor is an x86 one.
bool suits(const std::string& label, const std::string& cpu) {
  return label.empty() || cpu.empty() || label == cpu || (label == "amd" && cpu == "x86");
}

/// The library of HPC: the image itself, or one that an application's image has.
std::string wrong_library(const Labels& labels, const Demands& demands) {
  if (demands.library.empty()) return {};
  const bool itself = labels.kind == Labels::Kind::MpiLibrary;
  const auto found = labels.has.find(demands.library);
  if (itself ? labels.name != demands.library : found == labels.has.end())
    return fmt::format("it is without {}, which is demanded", demands.library);
  return wrong_version(itself ? labels.version : found->second, demands.library_version);
}

/// Whose image is asked for: the framework's; of HPC the application's, else the library's; without an optimisation
/// the application's.
std::string wrong_name(const Labels& labels, const Demands& demands) {
  // The application has an image of its own, or the library's is taken.
  const bool application = labels.kind == Labels::Kind::Application && !demands.workload.empty();
  const auto is = [&](Labels::Kind kind, const std::string& name) {
    return labels.kind == kind && labels.name == name;
  };
  const std::string other = fmt::format("it is {}, and ", labels.name);
  if (!demands.framework.empty() && !demands.hpc)
    return is(Labels::Kind::Framework, demands.framework) ? "" : other + demands.framework + " is demanded";
  if (application)
    return is(Labels::Kind::Application, demands.workload) ? "" : other + demands.workload + " is asked for";
  if (demands.library.empty()) return "the request names no framework, application or library";
  return is(Labels::Kind::MpiLibrary, demands.library) ? "" : other + demands.library + " is demanded";
}

Offer offer_of(const Image& image) {
  return {.kind = Offer::Kind::Image,
          .name = image.name,
          .labels = image.labels,
          .container = image.container,
          .packages = image.packages,
          .scaling = image.scaling,
          .missing = image.missing,
          .plug_in = image.plug_in};
}

}  // namespace

std::vector<Offer> offers_of(const Registry& registry, const Frameworks& frameworks,
                             const std::vector<measure::ImageRecipe>& images) {
  std::vector<Offer> offers;
  for (const Image& image : registry.images) offers.push_back(offer_of(image));
  for (const measure::EnvironmentRecipe& recipe : frameworks.recipes()) {
    const auto installed = frameworks.installed(recipe.name);
    offers.push_back({.kind = installed ? Offer::Kind::Installed : Offer::Kind::Recipe,
                      .name = recipe.name,
                      .labels = labels_of(recipe),
                      .environment = installed ? installed->folder.string() : "",
                      .has_python = recipe.kind == measure::RecipeKind::Python});
  }
  for (const measure::ImageRecipe& recipe : images)
    if (const auto image = image_of(recipe)) offers.push_back(offer_of(*image));
  return offers;
}

std::string title_of(const Offer& offer) {
  return (offer.kind == Offer::Kind::Image ? "image " : "environment ") + offer.name;
}

bool is_version_in(std::string_view version, std::string_view range) {
  const std::vector<int> numbers = numbers_of(version);
  if (numbers.empty()) return false;
  while (!range.empty()) {
    const std::string_view bound = range.substr(0, range.find(','));
    if (!holds(numbers, bound)) return false;
    range.remove_prefix(std::min(bound.size() + 1, range.size()));
  }
  return true;
}

std::string mismatch(const Labels& labels, const Demands& demands) {
  if (!demands.framework.empty() && labels.name != demands.framework)
    return fmt::format("it is {}, and {} is demanded", labels.name, demands.framework);
  if (std::string wrong = wrong_version(labels.version, demands.version); !wrong.empty()) return wrong;
  if (!suits(labels.cpu, demands.cpu))
    return fmt::format("it is built for {}, and {} is demanded", labels.cpu, demands.cpu);
  if (!labels.accelerator.empty() && !demands.accelerator.empty() && labels.accelerator != demands.accelerator)
    return fmt::format("its accelerator is {}, and {} is demanded", labels.accelerator, demands.accelerator);
  for (const auto& [compiler, wanted] : demands.graph_compilers())
    if (std::string wrong = wrong_compiler(compiler, wanted, labels); !wrong.empty()) return wrong;
  return {};
}

std::string mismatch(const Offer& offer, const Demands& demands) {
  const Labels& labels = offer.labels;
  if (std::string wrong = wrong_name(labels, demands); !wrong.empty()) return wrong;
  if (demands.opt_build && labels.opt_build && *demands.opt_build != *labels.opt_build)
    return *demands.opt_build ? "it is no optimised build, which is demanded"
                              : "it is an optimised build, which the request does not enable";
  if (demands.latest && offer.kind == Offer::Kind::Image && labels.version != "latest")
    return fmt::format("it is version {}, and latest is demanded", labels.version);
  if (demands.hpc)
    if (std::string wrong = wrong_library(labels, demands); !wrong.empty()) return wrong;
  Demands rest = demands;
  if (labels.kind == Labels::Kind::MpiLibrary) rest.version.clear();  // that is the application's
  return mismatch(labels, rest);
}

bool is_asked_for(const Offer& offer, const Demands& demands) {
  return wrong_name(offer.labels, demands).empty();
}

bool comes_before(const Offer& left, const Offer& right, const Demands& demands) {
  const auto key = [&](const Offer& offer) {
    const bool application = offer.labels.kind == Labels::Kind::Application;
    const bool labelled = !demands.latest || offer.labels.version == "latest";
    return std::tuple(!offer.missing.empty(), static_cast<int>(offer.kind), !application, !labelled,
                      offer.labels.cpu != demands.cpu,
                      offer.labels.accelerator != (demands.accelerator.empty() ? "none" : demands.accelerator));
  };
  if (key(left) != key(right)) return key(left) < key(right);
  const int newer = order(numbers_of(left.labels.version), numbers_of(right.labels.version));
  return newer != 0 ? newer > 0 : left.name < right.name;
}

}  // namespace nocturne::tuner
