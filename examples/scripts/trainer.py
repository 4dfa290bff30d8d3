"""The training loop of Lightning or of transformers over made data: `trainer.py lightning`, `trainer.py transformers`."""

import argparse
import logging
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from own_clock import OwnClock


def network():
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def made(count):
    inputs = torch.randn(count, 256)
    return inputs, inputs[:, :10].argmax(dim=1)


def with_lightning(options, clock):
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, batch, batch_idx):
            inputs, labels = batch
            loss = F.cross_entropy(self.network(inputs), labels)
            if batch_idx % 20 == 0:
                print(f"epoch {self.current_epoch} batch {batch_idx} loss {loss.item():.4f}")
            return loss

        def on_train_batch_end(self, outputs, batch, batch_idx):
            if (batch_idx + 1) % options.accumulate == 0:
                clock.step()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    loader = DataLoader(TensorDataset(*made(options.examples)), batch_size=options.batch_size, shuffle=True, drop_last=True)
    trainer = lightning.Trainer(
        max_epochs=options.epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accumulate_grad_batches=options.accumulate)
    model = Model()
    trainer.fit(model, loader)
    return model.network


def with_transformers(options, clock):
    import transformers

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network()

        def forward(self, inputs, labels):
            outputs = self.network(inputs)
            return {"loss": F.cross_entropy(outputs, labels), "logits": outputs}

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, arguments, state, control, **_):
            clock.step()

        def on_log(self, arguments, state, control, logs=None, **_):
            if "loss" in logs:
                print(f"step {state.global_step} loss {float(logs['loss']):.4f}")

    examples = [{"inputs": inputs, "labels": label} for inputs, label in zip(*made(options.examples))]
    arguments = transformers.TrainingArguments(
        output_dir="trainer", learning_rate=1e-3, num_train_epochs=options.epochs, seed=options.seed,
        per_device_train_batch_size=options.batch_size,
        gradient_accumulation_steps=options.accumulate, logging_steps=20, save_strategy="no", report_to="none", disable_tqdm=True,
        use_cpu=True, dataloader_drop_last=True, dataloader_pin_memory=False)
    trainer = transformers.Trainer(Model(), arguments, train_dataset=examples, callbacks=[Clock()])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return trainer.model.network


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("loop", choices=["lightning", "transformers"])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--examples", type=int, default=12800)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--accumulate", type=int, default=1, help="batches a step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", help="file of the weights")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    clock = OwnClock()
    trained = (with_lightning if options.loop == "lightning" else with_transformers)(options, clock)
    clock.report()
    if options.save:
        torch.save(trained.state_dict(), options.save)
