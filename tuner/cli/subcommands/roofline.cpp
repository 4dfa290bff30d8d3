// `nocturne roofline [CAMPAIGN]`: how far from possible each configuration is.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/roofline.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

struct RooflineOptions {
  CampaignChoice campaign;
  std::optional<std::int64_t> trial;  ///< layer by layer
};

using nlohmann::json;

json bound_json(const tuner::StepBound& bound) {
  json layers = json::array();
  for (const tuner::LayerBound& layer : bound.layers) {
    layers.push_back({{"layer", layer.name},
                      {"arithmetic_s", layer.arithmetic_s},
                      {"bytes_s", layer.bytes_s},
                      {"resource", layer.resource}});
  }
  return {{"seconds", bound.seconds},
          {"resource", bound.resource},
          {"resource_share", bound.resource_share},
          {"layers", std::move(layers)}};
}

json roofline_json(const tuner::Roofline& roofline, const db::CampaignSummary& campaign) {
  json rows = json::array();
  for (const tuner::RooflineRow& row : roofline.rows) {
    json each = {{"trial", row.trial},  {"configuration", row.configuration.to_json()},
                 {"batch", row.batch},  {"step_s", row.step_s},
                 {"bound", nullptr},    {"share", nullptr},
                 {"without", nullptr},  {"images_per_s", row.images_a_second()},
                 {"beats_bound", false}};
    if (row.bound) {
      each["bound"] = bound_json(*row.bound);
      each["share"] = row.share();
      each["beats_bound"] = row.beats_bound();
    } else {
      each["without"] = row.without;
    }
    rows.push_back(std::move(each));
  }
  const std::string sentence = tuner::best_sentence(roofline);
  const std::string doubt = tuner::doubt_sentence(roofline);
  return {{"campaign", campaign.name},
          {"generation", campaign.generation},
          {"network", roofline.network},
          {"operations_an_image", roofline.operations_an_image},
          {"best", roofline.best ? json(roofline.rows[*roofline.best].trial) : json()},
          {"sentence", sentence.empty() ? json() : json(sentence)},
          {"doubt", doubt.empty() ? json() : json(doubt)},
          {"rows", std::move(rows)}};
}

void print_roofline(const Context& context, const tuner::Roofline& roofline, const tuner::DefaultSettings& defaults) {
  std::ostream& out = *context.out;
  out << fmt::format("{}: {:.1f} MFLOP an image, forward and backward\n\n", roofline.network,
                     roofline.operations_an_image / 1e6);
  Table table({{"trial", Align::Right},
               {"images/s", Align::Right},
               {"step", Align::Right},
               {"bound", Align::Right},
               {"share", Align::Right},
               {"waits for"},
               {"settings", Align::Left, Fit::Wraps}});
  for (std::size_t i = 0; i < roofline.rows.size(); ++i) {
    const tuner::RooflineRow& row = roofline.rows[i];
    const Style style = roofline.best == i ? Style::Strong : Style::Plain;
    const std::string bound = row.bound ? seconds_text(row.bound->seconds) : "–";
    const std::string share =
        row.bound ? fmt::format("{}{}", row.beats_bound() ? "! " : "", percent_text(row.share())) : "–";
    const std::string waits =
        row.bound ? fmt::format("{} ({:.0f} %)", row.bound->resource, 100 * row.bound->resource_share) : row.without;
    table.add({Cell(std::to_string(row.trial), style), Cell(fmt::format("{:.1f}", row.images_a_second()), style),
               seconds_text(row.step_s), bound, Cell(share, row.beats_bound() ? Style::Bad : style), waits,
               defaults.text(row.configuration)});
  }
  table.print(context);
  if (const std::string sentence = tuner::best_sentence(roofline); !sentence.empty()) out << '\n' << sentence << '\n';
  if (const std::string doubt = tuner::doubt_sentence(roofline); !doubt.empty()) out << '\n' << doubt << '\n';
}

void print_layers(const Context& context, const tuner::Roofline& roofline) {
  const tuner::RooflineRow& row = roofline.rows.front();
  std::ostream& out = *context.out;
  out << fmt::format("trial {}: {} a step of {} images; at best {}\n\n", row.trial, seconds_text(row.step_s), row.batch,
                     seconds_text(row.bound->seconds));
  Table table(
      {{"layer"}, {"at best", Align::Right}, {"arithmetic", Align::Right}, {"bytes", Align::Right}, {"waits for"}});
  for (const tuner::LayerBound& layer : row.bound->layers) {
    table.add({Cell(layer.name), Cell(seconds_text(layer.seconds()), Style::Strong), seconds_text(layer.arithmetic_s),
               seconds_text(layer.bytes_s), layer.resource});
  }
  table.print(context);
  if (const std::string doubt = tuner::doubt_sentence(roofline); !doubt.empty()) out << '\n' << doubt << '\n';
}

std::expected<space::Fingerprint, std::string> machine_of(const db::Store& store, const db::CampaignSummary& campaign) {
  return space::Fingerprint::from_json(store.load_fingerprint(campaign.fingerprint).fields);
}

void setup(CLI::App& subcommand, RooflineOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  add_value(subcommand, "--trial", options.trial, "N", "Only this trial, layer by layer", whole_number(0));
  subcommand.footer(
      "A step cannot take less time than its operations at the peak of the precision, nor than its bytes at the\n"
      "bandwidth of memory or of the cache that holds them: the larger of both, layer by layer, and the optimizer's\n"
      "bytes. 'share' is how much of that bound a configuration reaches in its steady steps; 'waits for' is what\n"
      "most of the bound consists of. Frameworks train the same network with the same operations. A step that is\n"
      "faster than its bound, beyond the noise, is marked !: either the machine was busy when its figures were\n"
      "measured, or a convolution made fewer multiplications than counted.\n"
      "\n"
      "It needs the figures of the machine that the campaign ran on: 'nocturne machine --measure', on that machine.\n"
      "What a command of your own computes is not known, so it has no bound.\n"
      "\n"
      "Examples:\n"
      "  nocturne roofline\n"
      "  nocturne roofline mnist --trial 27\n"
      "  nocturne roofline mnist --json | jq '.rows[0].share'\n");
}

/// Negative for a command of the user's own; NotFound where the machine was not measured, or no trial.
ExitCode run(const RooflineOptions& options, Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  if (!tuner::sections_of(campaign.spec).worker.own.empty()) {
    return complain(
        context, ExitCode::Negative,
        fmt::format("'{}' tunes a command of its own: how many operations that makes is not known, so there "
                    "is no bound to hold it against",
                    campaign.name));
  }
  const auto fingerprint = value_or_refuse(context, ExitCode::Database, machine_of(store, campaign));
  const auto peaks = value_or_refuse(context, ExitCode::NotFound,
                                     tuner::peaks_for(store, fingerprint, tuner::workload_of(campaign.spec)));
  auto roofline = tuner::roofline_of(store, campaign, peaks);
  if (options.trial) {
    const auto row = std::ranges::find(roofline.rows, *options.trial, &tuner::RooflineRow::trial);
    if (row == roofline.rows.end()) {
      return complain(context, ExitCode::NotFound,
                      fmt::format("'{}' has no trial {} that worked", campaign.name, *options.trial));
    }
    if (!row->bound)
      return complain(context, ExitCode::NotFound, fmt::format("trial {}: {}", row->trial, row->without));
    tuner::RooflineRow only = *row;
    roofline.rows = {std::move(only)};
    roofline.best.reset();
    if (!context.json) {
      print_layers(context, roofline);
      return ExitCode::Ok;
    }
  }
  if (context.json)
    print_json(context, "roofline", roofline_json(roofline, campaign));
  else
    print_roofline(context, roofline, tuner::default_settings_of(store, campaign));
  return roofline.rows.empty() ? ExitCode::NotFound : ExitCode::Ok;
}

}  // namespace

SubcommandAction add_roofline(CLI::App& subcommand) {
  return add_options<RooflineOptions>(subcommand);
}

}  // namespace nocturne::cli
