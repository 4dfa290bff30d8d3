"""What PyTorch needs beside its own on a GPU: the precisions, and a training step recorded as a CUDA graph."""

from nocturne_worker import Unsupported

FIRST_AMPERE = (8, 0)  # compute capability: bf16 and TF32 from here on
FIRST_SCALE, GATE_SCALE = 65536.0, 1024.0  # as nocturne-cudnn's
WARM_UPS = 3           # before recording: libraries choose kernels and allocate in their first runs


def find_device(torch, settings):
    """The device, ready for the precision asked for. Raises Unsupported where there is none, or it is too old."""
    if not torch.cuda.is_available():
        built = getattr(torch.version, "cuda", None)
        raise Unsupported("device cuda: PyTorch %s sees no GPU: %s" % (torch.__version__, (
            "no driver, no GPU, or CUDA_VISIBLE_DEVICES hides it" if built else "it was built without CUDA")))
    device = torch.device("cuda", 0)
    capability = torch.cuda.get_device_capability(device)
    if settings.precision in ("bf16", "tf32") and capability < FIRST_AMPERE:
        raise Unsupported("precision %s needs a GPU of compute capability 8.0 or later, %s has %d.%d"
                          % ((settings.precision, torch.cuda.get_device_name(device)) + capability))
    # By themselves convolutions in f32 would be computed in TF32, products would not.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = settings.precision == "tf32"
    torch.backends.cudnn.benchmark = settings.own.get("algorithm") == "find"
    torch.cuda.set_device(device)
    return device


def sent(torch, device, values):
    """A NumPy array's copy on the GPU, through pinned memory: the host goes on while what was begun before still computes."""
    return torch.from_numpy(values).pin_memory().to(device, non_blocking=True)


def facts(torch, device):
    properties = torch.cuda.get_device_properties(device)
    return {"device": torch.cuda.get_device_name(device), "multiprocessors": properties.multi_processor_count,
            "device_memory_bytes": properties.total_memory, "capability": "%d.%d" % torch.cuda.get_device_capability(device)}


def is_out_of_memory(torch, error):
    kind = getattr(torch.cuda, "OutOfMemoryError", None)
    return (kind is not None and isinstance(error, kind)) or (
        isinstance(error, RuntimeError) and "CUDA out of memory" in str(error))


def loss_scaler(torch, gate):
    """The scaler of losses in f16. Gradients that leave its range end a step without an update, and the scale is lowered. In the
    gate every step must count, so it begins where they stay within."""
    scale = GATE_SCALE if gate else FIRST_SCALE
    scaler = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if scaler is not None:
        return scaler("cuda", init_scale=scale)
    return torch.cuda.amp.GradScaler(init_scale=scale)


class State(object):
    """Parameters, running averages and the optimizer's state, to be put back in place: a CUDA graph knows addresses."""

    def __init__(self, torch, model, optimizer):
        self._torch, self._optimizer = torch, optimizer
        self._kept = [(tensor, tensor.detach().clone()) for tensor in model.state_dict(keep_vars=True).values()]

    def put_back(self):
        """The optimizer has taken no step before, so all that it remembers was nought."""
        with self._torch.no_grad():
            for tensor, values in self._kept:
                tensor.copy_(values)
            for state in self._optimizer.state.values():
                for value in state.values():
                    if self._torch.is_tensor(value):
                        value.zero_()


class RecordedStep(object):
    """One training step for a batch of this shape: forward, backward and update, recorded once, then launched whole.

    `train(images, labels)` does a step and returns its loss; `optimizer` must be one that can be recorded. Parameters
    and the optimizer's state are afterwards what they were before.
    """

    def __init__(self, torch, model, optimizer, train, images, labels):
        self._torch = torch
        self._images, self._labels = images.clone(), labels.clone()
        state = State(torch, model, optimizer)
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(WARM_UPS):
                optimizer.zero_grad(set_to_none=True)
                train(self._images, self._labels)
        torch.cuda.current_stream().wait_stream(beside)
        self._graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self._graph):
            self._loss = train(self._images, self._labels)
        torch.cuda.synchronize()
        state.put_back()

    def fits(self, images):
        return images.shape == self._images.shape

    def step(self, images, labels):
        """The loss is a tensor of its own: the next launch writes into the recorded one."""
        self._images.copy_(images, non_blocking=True)
        self._labels.copy_(labels, non_blocking=True)
        self._graph.replay()
        return self._loss.clone()
