#pragma once

/// The loops of reference.cpp, one layer each; `batch` images. Backward adds to gradients and activation gradients set
/// to zero.

#include "kernels/onednn/check/reference.hpp"

namespace nocturne::onednn {

void reference_convolution(ReferenceLayer& layer, const Values& input, std::int64_t batch);
void reference_convolution_backward(ReferenceLayer& layer, const Values& input, const Values& activation_gradient,
                                    std::int64_t batch);
void reference_dense(ReferenceLayer& layer, const Values& input, std::int64_t batch);
void reference_dense_backward(ReferenceLayer& layer, const Values& input, const Values& activation_gradient,
                              std::int64_t batch);
/// With `decide` the first of equal maxima wins; otherwise layer.winner holds.
void reference_max_pool(ReferenceLayer& layer, const Values& input, std::int64_t batch, bool decide);
/// Divides by the whole window, padding included.
void reference_average_pool(ReferenceLayer& layer, const Values& input, std::int64_t batch);
void reference_average_pool_backward(ReferenceLayer& layer, const Values& activation_gradient, std::int64_t batch);
/// Fills layer.mean and layer.deviation from the batch; backward uses them.
void reference_normalisation(ReferenceLayer& layer, const Values& input, std::int64_t batch);
void reference_normalisation_backward(ReferenceLayer& layer, const Values& input, const Values& activation_gradient,
                                      std::int64_t batch);

}  // namespace nocturne::onednn
