"""Parameters between the protocol's shapes and those of frameworks that keep channels last (TensorFlow, JAX):

    convolution                    (O, I, H, W)  ↔  (H, W, I, O)
    dense layer that reads images  (O, C, H, W)  ↔  (H · W · C, O): it reads them flattened, channels fastest
    dense layer                    (O, I)        ↔  (I, O)
    all others                     unchanged
"""


def _reads_images(tensor):
    # A convolution's fan_out counts its window, a dense layer's does not.
    return len(tensor.shape) == 4 and tensor.fan_out == tensor.shape[0] and tensor.shape[2] * tensor.shape[3] > 1


def to_channels_last(tensor, values):
    """`tensor`: a networks.Tensor; `values`: NumPy array in its shape. Returns a contiguous array of its own."""
    if len(tensor.shape) == 4:
        values = values.transpose(2, 3, 1, 0)
        if _reads_images(tensor):
            values = values.reshape(-1, tensor.shape[0])
    elif len(tensor.shape) == 2:
        values = values.transpose(1, 0)
    return values.copy(order="C")


def from_channels_last(tensor, values):
    """The way back."""
    if len(tensor.shape) == 4:
        outputs, inputs, height, width = tensor.shape
        values = values.reshape(height, width, inputs, outputs).transpose(3, 2, 0, 1)
    elif len(tensor.shape) == 2:
        values = values.transpose(1, 0)
    return values.copy(order="C")


def images_to_channels_last(images):
    """(N, C, H, W) → (N, H, W, C); with one channel a view."""
    count, channels, height, width = images.shape
    if channels == 1:
        return images.reshape(count, height, width, 1)
    return images.transpose(0, 2, 3, 1).copy(order="C")
