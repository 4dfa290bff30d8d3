/// Which class serves which kind of row.

#include "kernels/cuda/layers/device_layer.hpp"

namespace nocturne::cuda {

std::unique_ptr<DeviceLayer> make_layer(const LayerPlace& place) {
  switch (place.layer().kind) {
    case networks::Kind::Convolution:
    case networks::Kind::Dense:
      return make_weighted(place);
    case networks::Kind::BatchNormalisation:
      return make_normalisation(place);
    case networks::Kind::MaxPool:
    case networks::Kind::AveragePool:
      return make_pooling(place);
    case networks::Kind::Add:
      return make_addition(place);
    case networks::Kind::Dropout:
      break;
  }
  return make_dropout(place);
}

}  // namespace nocturne::cuda
