// `nocturne import FILE…`: what other machines and other tools have measured, as history.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "search/replay/load.hpp"
#include "search/replay/space_folder.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/exchange/imported.hpp"
#include "tuner/exchange/optuna_storage.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  std::vector<std::string> files;
  std::string study;
  std::string space_folder;  ///< where to write recorded spaces, instead of history; or empty
};

/// A campaign, and what became of it.
struct ImportedRow {
  db::ImportedCampaign campaign;
  db::ImportCount count{};
  bool native = false;
};

std::string said_of(const db::ImportedCampaign& campaign, const char* key) {
  return campaign.record.spec.at(tuner::kStoredMachine).at("imported").value(key, "");
}

/// The files that were named, by what they are.
struct FilesByKind {
  std::vector<std::string> databases;  ///< of ours
  std::vector<std::string> storages;   ///< of Optuna's
  std::vector<fs::path> recorded;      ///< the others, in their order: a T1 problem's results come after it
};

FilesByKind files_by_kind(const std::vector<std::string>& files) {
  FilesByKind kinds;
  for (const std::string& file : files)
    if (tuner::holds_studies(file))
      kinds.storages.push_back(file);
    else if (tuner::is_database(file))
      kinds.databases.push_back(file);
    else
      kinds.recorded.emplace_back(file);
  return kinds;
}

/// Throws Refusal.
std::vector<search::replay::RecordedSpace> recorded_spaces(const FilesByKind& files, const std::string& study,
                                                           const Context& context) {
  std::vector<search::replay::RecordedSpace> spaces;
  for (const std::string& file : files.storages)
    spaces.push_back(value_or_refuse(context, ExitCode::Usage, tuner::recorded_study(file, study)));
  auto loaded = value_or_refuse(context, ExitCode::Usage, search::replay::load(files.recorded));
  std::ranges::move(loaded, std::back_inserter(spaces));
  for (const auto& each : spaces)
    for (const std::string& note : each.notes()) *context.err << fmt::format("{}: {}\n", each.name(), note);
  return spaces;
}

std::vector<db::ImportedCampaign> campaigns_of(const ImportOptions& options, const Context& context) {
  const FilesByKind files = files_by_kind(options.files);
  std::vector<db::ImportedCampaign> all;
  for (const std::string& file : files.databases) {
    const auto store = db::Store::open(file, db::Mode::ReadOnly);
    auto found = tuner::campaigns_to_import(store, fs::path(file).filename().string());
    if (found.empty())
      refuse(context, ExitCode::NotFound, fmt::format("{}: no campaign in it is finished and has a good trial", file));
    std::ranges::move(found, std::back_inserter(all));
  }
  const std::int64_t now = tuner::now_unix_ns();
  for (const auto& each : recorded_spaces(files, options.study, context)) all.push_back(tuner::campaign_of(each, now));
  return all;
}

ExitCode save_spaces(const ImportOptions& options, const Context& context) {
  const auto spaces = recorded_spaces(files_by_kind(options.files), options.study, context);
  if (spaces.empty())
    refuse(context, ExitCode::Usage, "a database of ours is written as spaces by 'nocturne replay FILE --save FOLDER'");
  for (const auto& each : spaces) {
    value_or_refuse(context, ExitCode::Unavailable, search::replay::save_space_folder(each, options.space_folder));
    context.verbatim() << (fs::path(options.space_folder) / each.name()).string() << '\n';
  }
  return ExitCode::Ok;
}

void print_imported(const Context& context, const std::vector<ImportedRow>& rows) {
  if (context.json) {
    const auto form = [](const ImportedRow& row) -> nlohmann::json {
      return {{"name", row.campaign.record.name},
              {"from", said_of(row.campaign, "name")},
              {"kind", said_of(row.campaign, "kind")},
              {"added", row.count.added},
              {"known", row.count.known},
              {"native", row.native}};
    };
    print_json(context, "import", {{"database", context.database().string()}, {"campaigns", json_list(rows, form)}});
    return;
  }
  Table table({{"campaign"}, {"from"}, {"kind"}, {"trials added", Align::Right}, {"known", Align::Right}, {""}});
  for (const ImportedRow& row : rows) {
    table.add({Cell(row.native ? said_of(row.campaign, "name") : row.campaign.record.name, Style::Strong),
               said_of(row.campaign, "name"), said_of(row.campaign, "kind"), fmt::format("{}", row.count.added),
               fmt::format("{}", row.count.known), row.native ? "was measured here" : ""});
  }
  table.print(context);
}

void setup(CLI::App& subcommand, ImportOptions& options) {
  add_value(subcommand, "file", options.files, "FILE", "What to import; behind a T1 problem the file with its results")
      ->required();
  add_value(subcommand, "--study", options.study, "NAME", "Which study of Optuna's storage (default: the only one)");
  add_value(subcommand, "--space", options.space_folder, "FOLDER",
            "Instead write it as a space that 'nocturne replay' reads: FOLDER/NAME/space.json and results.csv.gz");
  subcommand.footer(
      "Knows by itself what it is given: a database of nocturne, a cache of Kernel Tuner, T4 results, a T1 problem\n"
      "with its results, a SQLite storage of Optuna, hyperfine's JSON, a folder of a published space. Each becomes\n"
      "a finished campaign with a name of its own, from which campaigns tuned here learn: where machine and workload\n"
      "are those of the new campaign (only a database of nocturne knows) it is evidence, else it only ranks. What\n"
      "comes again is not stored again. No imported trial is ever taken for a measured one. Nothing in a file is\n"
      "executed. Runs with their samples stay where they were measured.\n"
      "\n"
      "Examples:\n"
      "  nocturne import other-machine.db\n"
      "  nocturne import cache.json\n"
      "  nocturne import problem.json results.json\n"
      "  nocturne import optuna.db --study resnet --space spaces\n"
      "  nocturne import results.json --db search/search.db    (history of a search by ask and tell)");
}

/// Usage where a file cannot be understood; NotFound where there is nothing to learn from.
ExitCode run(const ImportOptions& options, Context& context) {
  for (const std::string& file : options.files)
    if (std::error_code error; !fs::exists(file, error))
      return complain(context, ExitCode::Usage, fmt::format("{}: no such file or folder", file));
  if (!options.space_folder.empty()) return save_spaces(options, context);
  auto campaigns = campaigns_of(options, context);
  auto store = db::Store::open(context.database(), db::Mode::ReadWrite, store_options(context));
  const auto own = store.list_campaigns();
  std::vector<ImportedRow> rows;
  for (db::ImportedCampaign& each : campaigns) {
    ImportedRow row{.campaign = std::move(each)};
    row.native = tuner::is_native(own, row.campaign);
    if (!row.native) row.count = store.import_campaign(row.campaign);
    rows.push_back(std::move(row));
  }
  print_imported(context, rows);
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_import(CLI::App& subcommand) {
  return add_options<ImportOptions>(subcommand);
}

}  // namespace nocturne::cli
