"""nocturne-pytorch: PyTorch 1.4 to 2.15 on the CPU or a GPU.

    device           cpu, cuda
    precision        f32, bf16 (autocast: activations and products bf16; weights, gradients, optimizer f32); on a GPU also
                     tf32 (f32 whose products are taken in TF32) and f16 (autocast, with loss scaling)
    layout           nchw, nhwc (channels-last)
    graph_compiler   none, torchscript, inductor (torch.compile), ipex (Intel's extension), xla (torch-xla)
    onednn           true, false (MKL-DNN's kernels switched off)
    nnpack           true, false: NNPACK's kernels, which PyTorch takes where oneDNN's are off. They leave noise where an
                     image is blank, which opens ReLUs there: the first gradients of both convolutions' biases are wrong
                     by their own size, and the gate says so. With false they agree to 1e-6
    threads, inter_threads
    cuda_graphs      true, false: the whole step, update included, is recorded in phase `compile` and launched at once
    algorithm        heuristic, find: whether cuDNN tries its convolutions for each shape first

The compile phase trains nothing: TorchScript and inductor compile forward and backward there for a full batch; an
epoch's smaller batch is compiled when it comes.
"""

import os
import re
import shutil

import pytorch_cuda
from nocturne_worker import Momentum, Unsupported, Worker, main
from nocturne_worker.image_set import PIXEL_SCALE
from nocturne_worker.networks import NETWORKS
from pytorch_networks import mnist_cnn, resnet50, torch_name

torch = None  # imported in phase `import`


def release(version):
    """(2, 15) of "2.15.0+cpu"."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


class PyTorch(Worker):
    name = "nocturne-pytorch"
    networks = {name: NETWORKS[name] for name in ("mnist_cnn", "resnet50")}
    choices = {"device": ("cpu", "cuda"), "precision": ("f32", "bf16", "tf32", "f16"), "layout": ("nchw", "nhwc"),
               "graph_compiler": ("none", "torchscript", "inductor", "ipex", "xla"), "onednn": (True, False),
               "nnpack": (True, False), "cuda_graphs": (True, False), "algorithm": ("heuristic", "find")}
    has_inter_threads = sets_rate = True
    device = scaler = recorded = None

    def check(self, settings):
        if settings.graph_compiler == "xla" and (settings.layout or settings.onednn is not None):
            raise Unsupported("torch-xla chooses layouts and kernels itself: leave out layout and onednn")
        if settings.graph_compiler == "xla" and settings.device == "cuda":
            raise Unsupported("graph_compiler xla: torch-xla's GPU packages ended with 2.9, only its CPU is used here")
        if settings.own.get("cuda_graphs") and settings.precision == "f16":
            raise Unsupported("cuda_graphs with precision f16: loss scaling decides on the host whether a step counts")
        if settings.own.get("cuda_graphs") and settings.learning_rate_rule.endswith("_warm_up"):
            raise Unsupported("cuda_graphs with learning_rate_rule %s: a recorded step has one rate"
                              % settings.learning_rate_rule)
        if settings.graph_compiler == "ipex" and settings.onednn is False:
            raise Unsupported("Intel's extension is made of oneDNN's kernels: onednn = false leaves nothing of it")

    def import_framework(self, settings):
        global torch
        if settings.graph_compiler == "xla":
            os.environ["PJRT_DEVICE"] = "CPU"
            if settings.threads is not None:
                os.environ["NPROC"] = str(settings.threads)  # the size of XLA's own pool
        import torch
        import torch.backends.mkldnn  # PyTorch 1.4 does not import it by itself
        self.settings, self.extension = settings, None
        self.release = release(torch.__version__)
        self._check_release(settings)
        if settings.threads is not None:
            torch.set_num_threads(settings.threads)
        if settings.inter_threads is not None:
            torch.set_num_interop_threads(settings.inter_threads)
        if settings.onednn is not None:
            self._switch_onednn(settings.onednn)
        if "nnpack" in settings.own:
            self._switch_nnpack(settings.own["nnpack"])
        if settings.graph_compiler in ("ipex", "xla"):
            self.extension = self._import_extension(settings.graph_compiler)
        self.on_gpu = self.takes_stored = settings.device == "cuda"
        if self.on_gpu:
            self.device = pytorch_cuda.find_device(torch, settings)
        else:
            on_xla = settings.graph_compiler == "xla"
            self.device = self._xla("device", "xla_device")() if on_xla else torch.device("cpu")

    def _check_release(self, settings):
        def needs(least, what):
            if self.release < least:
                raise Unsupported("%s needs PyTorch %d.%d, this is %s" % (what, least[0], least[1], torch.__version__))
        if settings.device == "cuda":
            needs((2, 3), "device cuda")
        if settings.precision == "bf16":
            needs((1, 10), "bf16 on the CPU")
        if settings.layout == "nhwc":
            needs((1, 5), "layout nhwc")
        if settings.graph_compiler == "inductor":
            needs((2, 0), "inductor")
            if not any(shutil.which(each) for each in (os.environ.get("CXX", "g++"), "g++", "clang++")):
                raise Unsupported("inductor writes C++ and needs a compiler for it: install g++")

    @staticmethod
    def _switch_onednn(wanted):
        if not torch.backends.mkldnn.is_available():
            if wanted:
                raise Unsupported("this PyTorch was built without oneDNN")
            return
        switch = getattr(torch._C, "_set_mkldnn_enabled", None)
        if switch is not None:
            switch(wanted)
        elif not wanted:
            raise Unsupported("PyTorch %s cannot switch oneDNN off" % torch.__version__)

    @staticmethod
    def _switch_nnpack(wanted):
        switch = getattr(torch._C, "_set_nnpack_enabled", None)
        if switch is None:
            raise Unsupported("PyTorch %s has no switch for NNPACK" % torch.__version__)
        switch(wanted)

    @staticmethod
    def _import_extension(name):
        try:
            if name == "ipex":
                import intel_extension_for_pytorch
                return intel_extension_for_pytorch
            import torch_xla
            import torch_xla.core.xla_model  # torch_xla does not import it by itself in each version
            return torch_xla
        except ImportError as error:
            raise Unsupported("graph_compiler %s is not in this environment: %s" % (name, error))

    def _xla(self, name, name_before):
        """A function of torch_xla; older ones have it in xla_model, under another name."""
        return getattr(self.extension, name, None) or getattr(self.extension.core.xla_model, name_before)

    def versions(self):
        found = {"torch": torch.__version__}
        onednn = re.search(r"MKL-DNN v([0-9.]+)", torch.__config__.show())
        if onednn:
            found["onednn"] = onednn.group(1)
        if self.settings.graph_compiler == "ipex":
            found["ipex"] = self.extension.__version__
        elif self.settings.graph_compiler == "xla":
            found["torch_xla"] = self.extension.__version__
        if self.on_gpu:
            found.update({"cuda": torch.version.cuda, "cudnn": str(torch.backends.cudnn.version())})
        return found

    def facts(self):
        if self.on_gpu:
            return dict(pytorch_cuda.facts(torch, self.device), cuda_graphs=self.recorded is not None)
        capability = getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)
        return {"isa": capability() if capability else "unknown", "inter_threads": torch.get_num_interop_threads(),
                "onednn": bool(torch.backends.mkldnn.is_available() and self._onednn_is_on())}

    def threads(self, settings):
        return torch.get_num_threads()

    @staticmethod
    def _onednn_is_on():
        query = getattr(torch._C, "_get_mkldnn_enabled", None)
        return query is None or query()

    def build(self, plan):
        self.plan = plan
        torch.manual_seed(plan.seed)
        self.model = {"mnist_cnn": mnist_cnn, "resnet50": resnet50}[plan.network.name](torch, plan)
        state = self.model.state_dict()
        for tensor in plan.network.tensors:
            target = state[torch_name(tensor.name)]
            target.copy_(torch.from_numpy(plan.initial[tensor.name]).reshape(target.shape))
        self.model.to(self.device)
        if plan.settings.layout == "nhwc":
            self.model.to(memory_format=torch.channels_last)
        self.optimizer = self._optimizer(plan)
        if plan.settings.precision == "f16":
            self.scaler = pytorch_cuda.loss_scaler(torch, gate=not plan.dropout)
        self.model.train()
        if plan.settings.graph_compiler == "ipex":
            self.model, self.optimizer = self.extension.optimize(
                self.model, optimizer=self.optimizer,
                dtype=torch.bfloat16 if plan.settings.precision == "bf16" else torch.float32)
        self.run = self.model

    def _optimizer(self, plan):
        rule = plan.rule
        if not isinstance(rule, Momentum):
            # Recorded, it counts its steps on the GPU.
            more = {"capturable": True} if plan.settings.own.get("cuda_graphs") else {}
            try:
                return torch.optim.Adadelta(self.model.parameters(), lr=rule.rate, rho=rule.rho, eps=rule.epsilon,
                                            **more)
            except TypeError:
                raise Unsupported("cuda_graphs: the Adadelta of PyTorch %s cannot be recorded" % torch.__version__)
        found = dict(self.model.named_parameters())
        groups = [{"params": [found[torch_name(tensor.name)] for tensor in plan.network.tensors
                              if tensor.decays == decays], "weight_decay": rule.decay if decays else 0.0}
                  for decays in (True, False)]
        return torch.optim.SGD(groups, lr=rule.rate, momentum=rule.momentum)

    def set_rate(self, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def compile(self, images, labels):
        compiler = self.plan.settings.graph_compiler
        if compiler == "torchscript":
            self.run = torch.jit.script(self.model)
            runs = 2  # the first is watched, the second optimised by what was seen
        elif compiler == "inductor":
            self.run = torch.compile(self.model)
            runs = 1
        elif not self.settings.own.get("cuda_graphs"):
            return
        else:
            runs = 0
        averages = [(each, each.clone()) for each in self.model.buffers()]
        for _ in range(runs):
            self._forward_and_backward(self._tensor(images), self._labels(labels))
        self.optimizer.zero_grad()
        with torch.no_grad():
            for buffer, values in averages:
                buffer.copy_(values)
        if self.settings.own.get("cuda_graphs"):
            self.recorded = pytorch_cuda.RecordedStep(torch, self.model, self.optimizer, self._train,
                                                      self._tensor(images), self._labels(labels))
        torch.manual_seed(self.plan.seed)  # dropout begins with the seed, whatever was drawn

    def _tensor(self, images):
        if self.on_gpu:
            tensor = pytorch_cuda.sent(torch, self.device, images).to(torch.float32).mul_(PIXEL_SCALE)
        else:
            tensor = torch.from_numpy(images).to(self.device)
        if self.settings.layout == "nhwc":
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        return tensor

    def _labels(self, labels):
        return pytorch_cuda.sent(torch, self.device, labels) if self.on_gpu else torch.from_numpy(labels).to(self.device)

    def _logits(self, model, images):
        if self.settings.precision in ("f32", "tf32"):
            return model(images)
        kind = "cuda" if self.on_gpu else "xla" if self.settings.graph_compiler == "xla" else "cpu"
        with torch.autocast(kind, dtype=torch.float16 if self.settings.precision == "f16" else torch.bfloat16):
            return model(images).float()

    def _forward_and_backward(self, images, labels):
        loss = torch.nn.functional.cross_entropy(self._logits(self.run, images), labels)
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        return loss.detach()

    def _train(self, images, labels):
        loss = self._forward_and_backward(images, labels)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return loss

    def step(self, images, labels):
        images, labels = self._tensor(images), self._labels(labels)
        if self.recorded is not None and self.recorded.fits(images):
            return self.recorded.step(images, labels)
        self.optimizer.zero_grad()
        loss = self._train(images, labels)
        if self.settings.graph_compiler == "xla":
            self._xla("sync", "mark_step")()
        return loss

    def synchronise(self):
        if self.on_gpu:
            torch.cuda.synchronize()
        if self.settings.graph_compiler == "xla":
            self.extension.core.xla_model.wait_device_ops()

    def loss(self, handle):
        return handle.item()

    def device_bytes(self):
        return torch.cuda.max_memory_reserved() if self.device is not None and self.device.type == "cuda" else 0

    def is_out_of_memory(self, error):
        return torch is not None and pytorch_cuda.is_out_of_memory(torch, error)

    def logits(self, images):
        self.model.eval()
        with torch.no_grad():
            result = self._logits(self.model, self._tensor(images)).cpu().numpy()
        self.model.train()
        return result

    def parameters(self):
        state = self.model.state_dict()
        return {tensor.name: state[torch_name(tensor.name)].detach().cpu().float().contiguous().numpy()
                .reshape(tensor.shape).copy() for tensor in self.plan.network.tensors}


if __name__ == "__main__":
    main(PyTorch())
