"""PyTorch's side of tools/measure-python, for any Python that has PyTorch.

    python3 measure_torch.py < REQUEST > ANSWER     both JSON: see measure()

A separate program, so that PyTorch can be that of another system, such as a Debian release in a folder.
"""

import base64
import json
import os
import pathlib
import statistics
import sys
import time


def use_kernels_of_cpu():
    """OpenBLAS knows CPUs by their model and gives a newer one than itself AVX2; told so, it uses what the CPU has."""
    info = pathlib.Path("/proc/cpuinfo")
    flags = info.read_text(encoding="utf-8").split() if info.exists() else []
    if "avx512f" in flags:
        os.environ["OPENBLAS_CORETYPE"] = "Cooperlake" if "avx512_bf16" in flags else "SkylakeX"


use_kernels_of_cpu()  # before anything loads OpenBLAS


def median_seconds(call, seconds=0.5, processor=False):
    """The median of the repetitions that fit into `seconds`. Short calls are timed several at once. processor: the time of all
    threads on processors, which does not count what else the machine does."""
    clock = time.process_time if processor else time.perf_counter
    call()
    start = time.perf_counter()
    call()
    several = max(1, int(2e-4 / max(time.perf_counter() - start, 1e-7)))
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = clock()
        for _ in range(several):
            call()
        times.append((clock() - start) / several)
    return statistics.median(times)


def attention_call(torch, shape, causal):
    t = torch.randn(shape)
    functional = torch.nn.functional
    if hasattr(functional, "scaled_dot_product_attention"):
        return lambda: functional.scaled_dot_product_attention(t, t, t, is_causal=causal)
    mask = torch.full((shape[2], shape[2]), float("-inf")).triu(1) if causal else 0.0  # before PyTorch 2.0
    return lambda: torch.softmax(t @ t.transpose(-1, -2) / shape[-1] ** 0.5 + mask, -1) @ t


def measure_model(torch, path, ids, processor):
    """Seconds of one run with output_attentions=True, and its weights [layer, head, query, key]."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager").float().eval()

    def attentions():
        with torch.no_grad():
            return model(torch.tensor([ids]), output_attentions=True, use_cache=False).attentions

    weights = torch.cat(attentions()).contiguous()
    return {"transformers": transformers.__version__, "seconds": median_seconds(attentions, 2, processor), "shape": list(weights.shape),
            "weights": base64.b64encode(weights.numpy().tobytes()).decode()}


def measure(request):
    """threads; calls: pairs of a shape and whether it is causal; processor: see median_seconds(); model, ids: optional. None: PyTorch
    is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(request["threads"])
    with torch.no_grad():
        seconds = [median_seconds(attention_call(torch, shape, causal), processor=request["processor"])
                   for shape, causal in request["calls"]]
    answer = {"version": torch.__version__, "seconds": seconds, "model": None}
    if "model" in request:
        try:
            answer["model"] = measure_model(torch, request["model"], request["ids"], request["processor"])
        except ImportError as error:
            answer["model"] = {"missing": str(error)}
    return answer


if __name__ == "__main__":
    json.dump(measure(json.load(sys.stdin)), sys.stdout)
