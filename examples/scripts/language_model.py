"""A recurrent language model over made text; its weights are updated by hand, without an optimizer."""

import argparse
import math

import torch
from torch import nn

from own_clock import OwnClock


class Model(nn.Module):
    def __init__(self, words, width, layers):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=0.2)
        self.decoder = nn.Linear(width, words)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(output)).flatten(0, 1), hidden


def made_text(words, length):
    """Each word depends on the one before it, so that there is something to learn."""
    noise = torch.randint(0, words, (length,))
    often = torch.rand(length) < 0.8
    text = [0]
    for position in range(1, length):
        text.append((3 * text[-1] + 7) % words if often[position] else int(noise[position]))
    return torch.tensor(text)


def in_columns(text, batch):
    length = len(text) // batch
    return text[:length * batch].view(batch, length).t().contiguous()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--bptt", type=int, default=35, help="tokens that a step looks back")
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=70000, help="length of the text")
    parser.add_argument("--lr", type=float, default=5.0)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--log-interval", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1111)
    parser.add_argument("--save", help="file of the whole model")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    data = in_columns(made_text(options.words, options.tokens), options.batch_size)
    model, loss_of, clock = Model(options.words, options.width, 2), nn.CrossEntropyLoss(), OwnClock()
    rate = options.lr
    for epoch in range(1, options.epochs + 1):
        model.train()
        hidden, total, before = None, 0.0, float("inf")
        for step, begin in enumerate(range(0, len(data) - 1, options.bptt)):
            length = min(options.bptt, len(data) - 1 - begin)
            tokens, targets = data[begin:begin + length], data[begin + 1:begin + 1 + length].reshape(-1)
            if hidden is not None:
                hidden = tuple(each.detach() for each in hidden)
            model.zero_grad()
            output, hidden = model(tokens, hidden)
            loss = loss_of(output, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), options.clip)
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-rate)
            clock.step()
            total += loss.item()
            if step % options.log_interval == options.log_interval - 1:
                mean = total / options.log_interval
                print(f"| epoch {epoch} | step {step + 1} | lr {rate:.2f} | loss {mean:.3f} | perplexity {math.exp(mean):.1f}")
                if mean > before:
                    rate /= 4
                total, before = 0.0, mean
    clock.report()
    if options.save:
        torch.save(model.state_dict(), options.save)


if __name__ == "__main__":
    main()
