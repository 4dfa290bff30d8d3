#include "tuner/doctor/gpu_checks.hpp"

namespace nocturne::tuner {

Diagnosis check_gpu_worker(bool sees_gpu, const std::filesystem::path& program) {
  Diagnosis finding{.subject = "GPU worker", .found = program.string()};
  if (program.empty()) {
    finding.found = "nocturne-cudnn is not built";
    finding.health = sees_gpu ? Health::Optional : Health::Note;
    finding.meaning = sees_gpu
                          ? "framework cudnn cannot be tried; ./quickstart --cuda --setup-only gets nvcc and cuDNN "
                            "and builds it"
                          : "there is no GPU for it either";
  } else if (!sees_gpu) {
    finding.health = Health::Note;
    finding.meaning = "it answers 'unsupported': the system shows no NVIDIA GPU";
  }
  return finding;
}

}  // namespace nocturne::tuner
