#pragma once

/// From a campaign's answer to a profile, and from a profile to files.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/run/launch.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/executor/containment.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::deploy {

/// What a profile says beside what the database knows.
struct ProfileCircumstances {
  std::filesystem::path data_folder;    ///< where the workload's data set lies, if the run's request is gone
  std::filesystem::path builds_folder;  ///< where the artifacts are
  std::shared_ptr<const tuner::Frameworks> frameworks;  ///< and the environments; null: there are none
  measure::LaunchMachine machine;                       ///< from which the launch settings are derived
  tuner::Containment::Options containers;               ///< where images and their recipes are
  std::string version, commit;                          ///< this program's version and commit
  std::int64_t created_unix_ns = 0;
};

/// The circumstances of this program, here and now. `data` is the workload's data set.
[[nodiscard]] ProfileCircumstances present_circumstances(const space::Workload& workload,
                                                         const std::filesystem::path& builds_folder,
                                                         std::shared_ptr<const tuner::Frameworks> frameworks = {},
                                                         tuner::Containment::Options containers = {});

/// The profile of answer.best. The error is a sentence: nothing measured, the build is gone, a library is missing.
[[nodiscard]] std::expected<Profile, std::string> make_profile(const db::Store& store, const tuner::Answer& answer,
                                                               const ProfileCircumstances& circumstances);

/// Fills in the container that the configuration names, which is prepared here. The error is a sentence.
[[nodiscard]] std::expected<void, std::string> put_into_container(Profile& profile,
                                                                  const ProfileCircumstances& circumstances);

/// Where a profile's files are.
struct WrittenProfile {
  std::filesystem::path json, env, sh;
};

/// Writes FOLDER/NAME.json, .env and .sh, each atomically.
[[nodiscard]] std::expected<WrittenProfile, std::string> write_profile(const std::filesystem::path& folder,
                                                                       const Profile& profile);

}  // namespace nocturne::deploy
