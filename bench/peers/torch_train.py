"""PyTorch's twin of a training step of `headlight bench --only train`: the same sizes, tokens and FLOPs.

    torch_train.py attention_layer|gpt_step|translation_step THREADS

Prints one JSON line. Its modules are the library's own, in the fastest form that this version has.
"""

import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, LAYERS, VOCABULARY, CONTEXT, ROWS = 384, 6, 6, 8192, 256, 8
FUSED = hasattr(F, "scaled_dot_product_attention")


def made_up(first, count, vocabulary):
    tokens = []
    for number in range(first, first + count):
        mixed = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
        tokens.append((mixed >> 33) % vocabulary)
    return tokens


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.full((CONTEXT, CONTEXT), -math.inf).triu(1))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).split(WIDTH, dim=2))
        if FUSED:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = ((q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1]) + self.mask[:length, :length]).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.wide(self.second(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(LAYERS)]), nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


def gpt_step():
    torch.manual_seed(1)
    model = Gpt()
    ids = torch.tensor(made_up(0, ROWS * CONTEXT, VOCABULARY)).view(ROWS, CONTEXT)
    targets = torch.tensor(made_up(1, ROWS * CONTEXT, VOCABULARY))
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(model(ids).view(-1, VOCABULARY), targets).backward()
        adam.step()

    # 6 per multiplied parameter and token; attention is causal and counts half.
    products = LAYERS * 12 * WIDTH * WIDTH + VOCABULARY * WIDTH
    flops = ROWS * CONTEXT * (6 * products + LAYERS * 3.5 * 2 * CONTEXT * WIDTH)
    return step, flops, ROWS * CONTEXT


def attention_layer():
    torch.manual_seed(1)
    width, length, rows = 512, 256, 8
    layer = nn.MultiheadAttention(width, 8, batch_first=True)
    x, dy = torch.randn(rows, length, width, requires_grad=True), torch.randn(rows, length, width)

    def step():
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x, x, x, need_weights=False)[0].backward(dy)

    tokens = rows * length
    return step, 3 * 8 * tokens * width * width + 3.5 * 4 * tokens * length * width, tokens


def translation_step():
    torch.manual_seed(1)
    width, layers, vocabulary, most = 256, 6, 8192, 4000
    sources, inputs, number = [], [], 0
    while sum(map(len, sources)) + sum(map(len, inputs)) < most:
        sources.append(made_up(sum(map(len, sources)), 4 + number * 7 % 12, vocabulary))
        inputs.append(made_up(sum(map(len, inputs)), 5 + number * 7 % 12, vocabulary))
        number += 1

    def padded(lists):
        longest = max(map(len, lists))
        ids = torch.tensor([one + [0] * (longest - len(one)) for one in lists])
        return ids, torch.tensor([[i >= len(one) for i in range(longest)] for one in lists])

    source, source_pad = padded(sources)
    target, target_pad = padded(inputs)
    answers = torch.tensor(made_up(1, target.numel(), vocabulary)).masked_fill(target_pad.view(-1), -100)
    table = nn.Embedding(vocabulary, width)
    model = nn.Transformer(width, 8, layers, layers, 4 * width, dropout=0.0, batch_first=True)
    mask = torch.full((target.shape[1], target.shape[1]), -math.inf).triu(1)
    adam = torch.optim.AdamW([*table.parameters(), *model.parameters()], lr=1e-4)

    def step():
        adam.zero_grad(set_to_none=True)
        x = model(table(source), table(target), tgt_mask=mask, src_key_padding_mask=source_pad,
                  tgt_key_padding_mask=target_pad, memory_key_padding_mask=source_pad)
        F.cross_entropy((x @ table.weight.T).view(-1, vocabulary), answers).backward()
        adam.step()

    # Padding is time, not FLOPs.
    flops = 0
    for one, other in zip(map(len, sources), map(len, inputs)):
        flops += 6 * one * layers * 12 * width * width
        flops += 6 * other * (layers * 14 * width * width + vocabulary * width) + 6 * one * layers * 2 * width * width
        flops += 3.5 * 4 * layers * width * (one * one + other * other / 2 + one * other)
    return step, flops, sum(map(len, sources)) + sum(map(len, inputs))


def main():
    steps = {"gpt_step": gpt_step, "attention_layer": attention_layer, "translation_step": translation_step}
    if len(sys.argv) != 3 or sys.argv[1] not in steps:
        sys.exit(__doc__)
    torch.set_num_threads(int(sys.argv[2]))
    step, flops, tokens = steps[sys.argv[1]]()
    for _ in range(2):
        step()
    best = math.inf
    for _ in range(7):
        begin = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - begin)
    print(json.dumps({"name": sys.argv[1], "threads": int(sys.argv[2]), "ms": best * 1e3, "gflops": flops / best * 1e-9,
                      "tokens_per_second": tokens / best, "version": torch.__version__}))


if __name__ == "__main__":
    main()
