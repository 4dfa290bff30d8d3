/// What a build without cudnn-frontend has in place of fused_convolution.cpp: nothing, and it says so.

#include "kernels/cuda/cudnn/fused_convolution.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {

struct FusedConvolution::Plan {
  std::string name;
};

bool can_fuse() {
  return false;
}

FusedConvolution::FusedConvolution(const FusedShape&, const FusedPlaces&, cudnnHandle_t) {
  throw worker::Unsupported("built without cudnn-frontend");
}

FusedConvolution::~FusedConvolution() = default;

void FusedConvolution::run(cudnnHandle_t, void*) const {}

std::int64_t FusedConvolution::workspace_bytes() const {
  return 0;
}

const std::string& FusedConvolution::name() const {
  return plan_->name;
}

}  // namespace nocturne::cuda
