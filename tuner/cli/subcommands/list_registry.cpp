#include "tuner/cli/subcommands/list_registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/cli/choice/registered.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/registry/labels.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;

json partition_json(const tuner::Partition& partition) {
  return {{"name", partition.name},
          {"nodes", or_null(partition.nodes)},
          {"default", partition.is_default},
          {"node_cores", or_null(partition.node_cores)},
          {"accelerator", text_or_null(partition.accelerator)},
          {"storage", partition.storage}};
}

std::string conditions_text(const tuner::Fragment& fragment) {
  std::vector<std::string> parts;
  if (!fragment.application.empty()) parts.push_back(fragment.application);
  for (const auto& [key, value] : fragment.features.items()) parts.push_back(fmt::format("{} = {}", key, value.dump()));
  if (!fragment.infrastructure.empty()) parts.push_back("on " + fragment.infrastructure);
  if (!fragment.storage_class.empty()) parts.push_back("with " + fragment.storage_class);
  if (fragment.only_unmeasured) parts.emplace_back("nothing was measured");
  return parts.empty() ? "always" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

ExitCode print_list(const Context& context, const std::string& what, json things, const Table& table) {
  if (context.json)
    print_json(context, "list-" + what, {{what, std::move(things)}});
  else
    table.print(context);
  return ExitCode::Ok;
}

ExitCode list_infrastructures(const Context& context) {
  json document = json::array();
  Table table({{"infrastructure"}, {"scheduler"}, {"partitions"}, {"what it is", Align::Left, Fit::Wraps}});
  const tuner::Registry registry = registry_here(context);
  for (const tuner::Infrastructure& each : registry.infrastructures) {
    const std::string scheduler = each.scheduler.empty() ? "none" : each.scheduler;
    document.push_back({{"name", each.name},
                        {"description", each.description},
                        {"disabled", each.disabled},
                        {"scheduler", scheduler},
                        {"container_runtime", text_or_null(each.container_runtime)},
                        {"modules", each.modules},
                        {"shared_folder", text_or_null(each.shared_folder)},
                        {"local_folder", text_or_null(each.local_folder)},
                        {"storage", each.storage},
                        {"partitions", json_list(each.partitions, partition_json)}});
    std::vector<std::string> partitions;
    for (const tuner::Partition& partition : each.partitions) partitions.push_back(partition.name);
    table.add({Cell(each.name, each.disabled ? Style::Faint : Style::Strong), Cell(scheduler),
               Cell(fmt::format("{}", fmt::join(partitions, ", "))),
               Cell(each.disabled ? "(disabled) " + each.description : each.description)});
  }
  return print_list(context, "infrastructures", std::move(document), table);
}

ExitCode list_fragments(const Context& context) {
  json document = json::array();
  Table table({{"fragment"}, {"stage"}, {"where"}, {"what it does", Align::Left, Fit::Wraps}});
  const tuner::Registry registry = registry_here(context);
  for (const tuner::Fragment& each : registry.fragments) {
    const char* stage = each.post ? "post" : "pre";
    document.push_back({{"name", each.name},
                        {"description", each.description},
                        {"stage", stage},
                        {"raw", each.raw},
                        {"only_unmeasured", each.only_unmeasured},
                        {"application", text_or_null(each.application)},
                        {"features", each.features},
                        {"infrastructure", text_or_null(each.infrastructure)},
                        {"storage_class", text_or_null(each.storage_class)}});
    table.add({Cell(each.name, Style::Strong), Cell(stage), Cell(conditions_text(each)), Cell(each.description)});
  }
  return print_list(context, "fragments", std::move(document), table);
}

ExitCode list_images(const Context& context) {
  json document = json::array();
  Table table({{"image"}, {"labels", Align::Left, Fit::Wraps}, {"container", Align::Left, Fit::Wraps}});
  const auto add = [&](const tuner::Image& image) {
    document.push_back({{"name", image.name},
                        {"labels", tuner::to_json(image.labels)},
                        {"container", text_or_null(image.container)},
                        {"packages", image.packages},
                        {"missing", text_or_null(image.missing)},
                        {"plug_in", text_or_null(image.plug_in)},
                        {"note", text_or_null(image.note)},
                        {"from", text_or_null(image.from)}});
    const std::string packages = fmt::format("{}", fmt::join(image.packages, " "));
    table.add({Cell(image.name, Style::Strong), Cell(tuner::to_text(image.labels)),
               Cell(!image.container.empty() ? image.container
                    : !packages.empty()      ? "packages " + packages
                                             : "none: " + image.missing)});
  };
  for (const tuner::Image& image : registry_here(context).images) add(image);
  for (const measure::ImageRecipe& recipe : image_recipes_here(context))
    if (const auto image = tuner::image_of(recipe)) add(*image);
  return print_list(context, "images", std::move(document), table);
}

}  // namespace nocturne::cli
