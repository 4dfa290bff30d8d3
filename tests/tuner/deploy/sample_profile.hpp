#pragma once

/// Profiles for tests, a plain one and one in which every text is an attempt to run a command.

#include <string>

#include "tuner/deploy/profile.hpp"

namespace nocturne::test {

/// Text that runs `touch MARKER` in a shell that meets it unquoted, in double quotes or in single quotes.
inline std::string hostile(const std::string& marker) {
  return "a'; touch " + marker + "; echo \"$(touch " + marker + ")`touch " + marker + "`\nb\\ '\"; touch " + marker +
         " #\xC3\xA9";
}

inline deploy::Profile sample_profile() {
  deploy::Profile profile;
  profile.campaign = "mnist-evening";
  profile.identity = "0123456789abcdef0123456789abcdef";
  profile.generation = 2;
  profile.trial = 7;
  profile.workload = {.network = "mnist_cnn", .data = "mnist", .optimizer = "adadelta", .training_examples = 60000};
  profile.epochs = 12;
  profile.configuration.set("batch", std::int64_t{128});
  profile.configuration.set("precision", std::string("bf16"));
  profile.configuration.set("threads", std::int64_t{2});
  profile.configuration.set("huge_pages", true);
  profile.estimate = space::Estimate{.value = 150.5, .standard_error = 0.25, .runs = 3};
  profile.gain = deploy::Gain{.verdict = "faster",
                              .epochs = 12,
                              .gain_percent = 104,
                              .low_percent = 101,
                              .high_percent = 107,
                              .confidence = 0.95,
                              .pairs = 6,
                              .baseline = {}};
  profile.gain->baseline.set("precision", std::string("f32"));
  profile.measured_on.fingerprint = "fedcba98";
  profile.measured_on.machine.set({.name = "cpu.model", .value = "A CPU", .match = space::Match::Must});
  profile.measured_on.machine.set({.name = "kernel", .value = "6.1", .match = space::Match::Verify});
  profile.training = {.program = "/opt/builds/k/worker",
                      .arguments = {"--quiet"},
                      .artifact = "00ff",
                      .data_folder = "/opt/data/mnist",
                      .seed = 3,
                      .steps = 40,
                      .steps_per_sample = 2,
                      .partial_batch = "train"};
  profile.launch.set = {{"OMP_NUM_THREADS", "2"}, {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
  profile.launch.unset = {"GOMP_CPU_AFFINITY"};
  profile.repeat = "cd /runs/x && /opt/builds/k/worker --request request.json";
  profile.nocturne_version = "0.1.0";
  profile.nocturne_commit = "abc";
  profile.created = "2024-05-31T19:03:12Z";
  return profile;
}

/// The same with `hostile` wherever a text can stand.
inline deploy::Profile hostile_profile(const std::string& marker) {
  const std::string text = hostile(marker);
  deploy::Profile profile = sample_profile();
  profile.campaign = profile.identity = profile.minimise = text;
  profile.workload.network = profile.workload.data = profile.workload.optimizer = text;
  profile.configuration.set("precision", text);
  profile.configuration.set(text, text);
  profile.gain->verdict = text;
  profile.measured_on.fingerprint = text;
  profile.measured_on.machine.set({.name = text, .value = text, .match = space::Match::Must});
  profile.training.arguments = {text, "--x=" + text};
  profile.training.artifact = text;
  profile.launch.set["HOSTILE"] = text;
  profile.launch.set[text] = text;
  profile.launch.unset.push_back(text);
  profile.repeat = profile.nocturne_version = profile.nocturne_commit = profile.created = text;
  return profile;
}

}  // namespace nocturne::test
