#include <fmt/format.h>

#include "space/value.hpp"
#include "tuner/deploy/container.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/deploy/training_request.hpp"

namespace nocturne::deploy {
namespace {

/// An object without its closing brace, so that the script can add keys whose values are known only when it runs.
std::string open_object_word(const nlohmann::json& object) {
  std::string text = object.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  text.pop_back();
  return shell_quote(text + (object.empty() ? "" : ","));
}

std::string heading(const Profile& profile) {
  std::string text = "#!/bin/sh\n";
  text +=
      fmt::format("# Trains {} on {} as measured in campaign {}, trial {}.\n", comment_text(profile.workload.network),
                  comment_text(profile.workload.data), comment_text(profile.campaign), profile.trial);
  text += proof_comments(profile, "This configuration");
  text += "#\n# Configuration:\n";
  for (const auto& [name, value] : profile.configuration.values())
    text += fmt::format("#   {} = {}\n", comment_text(name), comment_text(space::to_text(value)));
  text += "# Measured on a machine with:\n";
  for (const space::FingerprintField& field : profile.measured_on.machine.fields())
    if (field.match == space::Match::Must)
      text += fmt::format("#   {} = {}\n", comment_text(field.name), comment_text(field.value));
  text += fmt::format("# Written by nocturne {} ({}) at {}.\n", comment_text(profile.nocturne_version),
                      comment_text(profile.nocturne_commit), comment_text(profile.created));
  text += R"(#
# Use: sh FILE [--epochs N]        or by environment variables:
#   EPOCHS  whole epochs to train              STEPS  this many training steps instead (after the first)
#   DATA    folder with the data set           SEED   of initial weights and order of data
#   OUTPUT  folder for the results (made)
)";
  return text;
}

constexpr std::string_view kArguments = R"(
fail() { printf '%s: %s\n' "${0##*/}" "$1" >&2; exit "${2:-2}"; }

while [ $# -gt 0 ]; do
  case $1 in
    --epochs) [ $# -ge 2 ] || fail '--epochs needs a number'; epochs=$2; shift 2 ;;
    --epochs=*) epochs=${1#--epochs=}; shift ;;
    -h|--help) sed -n '/^# Use:/,/^#   OUTPUT/s/^# //p' "$0"; exit 0 ;;
    *) fail "unknown argument '$1'; try --help" ;;
  esac
done
for number in "$epochs" "$steps" "$seed"; do
  case $number in
    ''|*[!0-9]*) fail "'$number' is not a whole number" ;;
    0|[1-9]*) ;;
    *) fail "'$number' has a leading zero" ;;
  esac
done
if [ "$steps" -gt 0 ]; then epochs=0; accuracy=false; else accuracy=true; steps=0; fi
[ "$steps" -gt 0 ] || [ "$epochs" -gt 0 ] || fail 'nothing to train: EPOCHS is 0'
)";

constexpr std::string_view kFolders = R"(
[ -d "$data" ] || fail "the data folder $data is missing; name it with DATA=FOLDER" 5
data=$(CDPATH='' cd -- "$data" && pwd)
mkdir -p -- "$output" || fail "cannot make $output" 5
output=$(CDPATH='' cd -- "$output" && pwd)
case $data in *[[:cntrl:]]*) fail 'the path of the data folder holds control characters' ;; esac
data_json=$(printf '%s' "$data" | sed 's/["\\]/\\&/g')
rm -f -- "$output/events.jsonl"
)";

/// On the host: the command line that replaces the shell.
std::string launch(const Profile& profile) {
  std::string text = start_lines(profile.launch) + " \"$program\"";
  for (const std::string& argument : profile.training.arguments) text += " " + shell_quote(argument);
  return text + " --request \"$output/request.json\" --events \"$output/events.jsonl\"\n";
}

}  // namespace

std::string export_sh(const Profile& profile) {
  if (has_own_command(profile)) return own_command_script(profile);
  const protocol::Request request = training_request(profile);
  nlohmann::json document = protocol::to_json(request);
  nlohmann::json workload = document.at("workload");
  workload.erase("data_folder");  // this and what follows the script fills in
  for (const char* key : {"workload", "seed", "steps", "epochs", "accuracy"}) document.erase(key);

  std::string text = heading(profile);
  text += "set -eu\n\n";
  text += fmt::format("program={}\n", shell_quote(profile.training.program.string()));
  text += fmt::format("data={}\n", shell_quote(profile.training.data_folder.string()));
  text += "if [ -n \"${DATA:-}\" ]; then data=$DATA; fi\n";
  text += fmt::format("epochs=${{EPOCHS:-{}}}\n", request.epochs);
  text += "steps=${STEPS:-0}\n";
  text += fmt::format("seed=${{SEED:-{}}}\n", profile.training.seed);
  text += fmt::format("output=${{OUTPUT:-\"$PWD/{}-$(date +%Y%m%dT%H%M%S)-$$\"}}\n", file_stem(profile.campaign));
  text += kArguments;
  std::string inside;
  if (!container_of(profile).empty()) {
    auto lines =
        profile.container
            ? contained_lines(profile)
            : std::unexpected(std::string("the profile does not say in which image it was measured: export it again"));
    if (lines)
      inside = *std::move(lines);
    else
      text += fmt::format("\nfail {} 1\n", shell_quote(lines.error()));
  }
  if (!program_is_inside(profile))
    text += "\n[ -x \"$program\" ] || fail \"$program is missing; tune again or export again on this machine\" 5\n";
  text += placing_checks(profile.launch, " 5");
  for (const auto& library : inside.empty() ? profile.launch.preload : std::vector<std::filesystem::path>()) {
    const std::string path = library.string();
    text +=
        fmt::format("[ -r {} ] || fail {} 5\n", shell_quote(path), shell_quote("the library " + path + " is missing"));
  }
  text += kFolders;
  text += "{\n";
  text += fmt::format("  printf '%s\"workload\":' {}\n", open_object_word(document));
  text += fmt::format("  printf '%s\"data_folder\":\"%s\"}},' {} \"$data_json\"\n", open_object_word(workload));
  text +=
      "  printf '\"seed\":%s,\"steps\":%s,\"epochs\":%s,\"accuracy\":%s}\\n' \"$seed\" \"$steps\" \"$epochs\" "
      "\"$accuracy\"\n";
  text += "} > \"$output/request.json\"\n\n";
  text += "printf 'results: %s\\n' \"$output/events.jsonl\" >&2\n";
  text += "cd -- \"$output\"\n";
  if (inside.empty()) return text + launch(profile);
  return text + inside + "exec" + placing_text(profile.launch) + " \"$@\"\n";
}

}  // namespace nocturne::deploy
