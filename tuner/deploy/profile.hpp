#pragma once

/// What a campaign hands to a deployment: the configuration to run, the proof that it is faster, and the machine on
/// which that holds. One JSON document; README.md beside this file describes its keys.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/container/container.hpp"
#include "measure/run/launch.hpp"
#include "space/configuration.hpp"
#include "space/fingerprint.hpp"
#include "space/trial.hpp"
#include "space/workload.hpp"
#include "tuner/deploy/step_forecast.hpp"

namespace nocturne::deploy {

/// Version of the document. A reader refuses a newer one; new keys alone do not raise it.
inline constexpr int kProfileVersion = 1;

/// The configuration against the campaign's default, from fresh pairs of processes.
struct Gain {
  std::string verdict;      ///< faster, slower, same, undecided
  double epochs = 0;        ///< horizon at which they were compared
  double gain_percent = 0;  ///< 100 · (T(baseline) / T(configuration) − 1): 100 means twice as fast
  double low_percent = 0;   ///< interval of gain_percent
  double high_percent = 0;
  double confidence = 0.95;  ///< confidence of that interval, 0 to 1
  std::int64_t pairs = 0;    ///< pairs of processes it rests on
  space::Configuration baseline;
  friend bool operator==(const Gain&, const Gain&) = default;
};

/// What trains.
struct Training {
  std::filesystem::path program;        ///< absolute
  std::vector<std::string> arguments;   ///< before --request … --events …
  std::string artifact;                 ///< key of the build or the environment, or empty: neither
  std::string recipe{};                 ///< what `framework` calls it, so that it can be made again; empty: not known
  std::vector<std::string> packages{};  ///< locked packages of an environment
  std::string python{};                 ///< version of its Python: "3.11.2"; empty: not an environment
  std::vector<std::string> fix_ups{};   ///< what changed it after its packages were installed
  /// What the program is linked with beside the C library; of a program that is no environment's.
  std::vector<std::filesystem::path> libraries{};
  std::filesystem::path data_folder;  ///< absolute
  std::uint64_t seed = 1;
  std::int64_t steps = 40;  ///< timed steps of the runs that were measured
  std::int64_t steps_per_sample = 1;
  std::string partial_batch = "drop";
  nlohmann::json
      own_command;  ///< the user's command as its campaign has it (measure/run/command_template.hpp); null: none
  /// The files that the user's command is made of, absolute → SHA-256 when it was measured; empty: edited since.
  std::map<std::filesystem::path, std::string> sources{};
  std::map<std::string, std::string> versions{};  ///< of what a script was measured with: python, torch, …
  /// Whether the campaign named `program` itself; else it is a build, of an environment, or a worker of ours as it is.
  [[nodiscard]] bool is_command() const { return artifact.empty() && recipe.empty(); }
  friend bool operator==(const Training&, const Training&) = default;
};

/// The machine it was measured on.
struct MeasuredOn {
  std::string fingerprint;       ///< identity of the whole fingerprint in the database
  space::Fingerprint machine{};  ///< its fields that must match or are to be verified; the others are left out
  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

/// What it was measured in, where that was not the host.
struct ProfileContainer {
  std::string runtime;                          ///< value of `container`
  std::string version;                          ///< the runtime's
  std::string image;                            ///< name of the image's recipe
  std::string digest;                           ///< measure::ContainerImage::digest
  bool by_packages = false;                     ///< the digest is over the folder's packages, else over its files
  std::filesystem::path root{};                 ///< the image's folder; empty: the runtime keeps it
  std::string reference{};                      ///< its id in the runtime's storage; empty: it is a folder
  std::string form{};                           ///< measure::ImageForm, of a file; empty: the folder itself
  std::filesystem::path file{};                 ///< that file, made of the folder
  std::vector<measure::ContainerMount> mounts;  ///< folders of the host, without the run's
  bool gpu = false;                             ///< a GPU is handed over
  friend bool operator==(const ProfileContainer&, const ProfileContainer&) = default;
};

/// A value type.
struct Profile {
  std::string campaign;
  std::string identity;  ///< the campaign's: hash of workload, space, objective
  std::int64_t generation = 1;
  std::int64_t trial = 0;  ///< number within the campaign
  space::Workload workload;
  std::string minimise = "time";
  double epochs = 12;  ///< horizon for which this configuration was chosen
  space::Configuration configuration;
  std::optional<space::Estimate> estimate;  ///< seconds for `epochs`
  std::optional<StepForecast> step{};       ///< what a step of a new process takes; empty: steps were not seen
  std::optional<Gain> gain;                 ///< empty: not compared yet
  std::string forced;  ///< why it should not have been exported; empty: it is proven faster, or is the default
  MeasuredOn measured_on;
  Training training;
  measure::LaunchSettings launch;
  std::optional<ProfileContainer> container{};  ///< empty: the host
  /// The most memory that one of its runs held; empty: not known.
  std::optional<std::int64_t> peak_bytes{};
  std::string repeat;  ///< the shell line of the run that was measured
  /// Parameter → what its value is worth by the campaign's model: "script: 33 % slower (20 to 45 %)"; may be empty.
  std::map<std::string, std::string> effects{};
  /// The module that pulls the levers of an unchanged script: path → text of its files. Not in the document: whoever
  /// reads that has an installation. Empty: nothing is pulled.
  std::map<std::string, std::string> module{};
  /// The default as it was measured here, ready to be started in its place; none or one, which has none itself.
  std::vector<Profile> of_default{};
  std::string nocturne_version, nocturne_commit;
  std::string created;  ///< UTC, RFC 3339
  friend bool operator==(const Profile&, const Profile&) = default;
};

[[nodiscard]] nlohmann::json to_json(const Profile& profile);

/// The error names the key and what was expected there. Everything that later becomes a command is checked here:
/// absolute paths, names of variables, CPU numbers, no NUL. Unknown keys are ignored.
[[nodiscard]] std::expected<Profile, std::string> profile_from_json(const nlohmann::json& document);

/// Reads a file. The error is a sentence with the path.
[[nodiscard]] std::expected<Profile, std::string> load_profile(const std::filesystem::path& file);

/// "is 2.04 times as fast as the default for 12 epochs (+104.0 %, 95 % interval +101.0 to +107.0 %, 6 pairs)", or what
/// else the verdict is.
[[nodiscard]] std::string gain_text(const Gain& gain);

/// The same as lines of comments, "# It is 2.04 times …", and why it was exported all the same. `subject`: "It".
[[nodiscard]] std::string proof_comments(const Profile& profile, std::string_view subject);

/// The campaign's name as a file name: letters, digits, `_ . -`; everything else becomes '-'. Never empty, no leading
/// dot.
[[nodiscard]] std::string file_stem(std::string_view campaign);

/// It knows its default, ready to be started, and how fast that is.
[[nodiscard]] bool can_fall_back(const Profile& profile);

/// The value of `container`, where that is not the host; else empty.
[[nodiscard]] std::string container_of(const Profile& profile);

}  // namespace nocturne::deploy
