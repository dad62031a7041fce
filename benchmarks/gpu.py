"""What a judgment costs on one GPU: forward passes of models with random weights, one answer token each.

A judgment whose answer is one of a few letters is one forward pass over its prompt, so its cost does not
depend on the weights. Needs torch and transformers; prints JSON, the source of the costs in
docs/howto/collecting/scaling.md.
Serving engines add scheduling, and save the passes over prompts that begin alike.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from typing import Any

# layers, width, heads, heads of keys, width of the feed-forward part, vocabulary: as published
SHAPES = {
    "1.5 billion parameters (as Qwen2.5-1.5B)": (28, 1536, 12, 2, 8960, 151_936),
    "8 billion parameters (as Llama-3.1-8B)": (32, 4096, 32, 8, 14_336, 128_256),
    "33 billion parameters (as Qwen2.5-32B)": (64, 5120, 40, 8, 27_648, 152_064),
}
LENGTHS = (300, 1_000)  # tokens of a prompt: a pair of short posts, a pair with long instructions
TOKENS = 32_000  # tokens of a batch, about
ROUNDS = 5
OPTIONS = (32, 33)  # ids of two tokens that stand for two options


@dataclass(frozen=True)
class Cost:
    """Judgments and tokens per second of one shape and length of prompt, and the memory that they took."""

    model: str
    prompt_tokens: int
    batch: int
    judgments_per_second: float
    tokens_per_second: float
    memory_gb: float


def loaded(shape: tuple[int, ...]) -> Any:
    """A model of a shape with random weights, in bfloat16 on the GPU."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    layers, width, heads, key_heads, inner, vocabulary = shape
    config = LlamaConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        intermediate_size=inner,
        vocab_size=vocabulary,
        max_position_embeddings=8192,
        dtype=torch.bfloat16,
    )
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()


def passed(model: Any, prompts: Any) -> Any:
    """Log-probabilities of the token after each prompt, shape (batch, vocabulary)."""
    return model(input_ids=prompts, logits_to_keep=1, use_cache=False).logits[:, -1].float().log_softmax(-1)


def cost(name: str, model: Any, length: int) -> Cost:
    """Time batches after one to warm up; the median of the rounds counts."""
    import torch

    batch = max(TOKENS // length, 1)
    prompts = torch.randint(100, 20_000, (batch, length), device="cuda")
    seconds = []
    torch.cuda.reset_peak_memory_stats()
    for _ in range(ROUNDS + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        passed(model, prompts)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    typical = sorted(seconds[1:])[ROUNDS // 2]
    memory = torch.cuda.max_memory_allocated() / 1e9
    return Cost(name, length, batch, batch / typical, batch * length / typical, memory)


def moved_by_batching(model: Any, length: int, n: int = 256) -> dict[str, float]:
    """How far the log-odds of two options move when a prompt is answered in a batch and not alone."""
    import torch

    prompts = torch.randint(100, 20_000, (n, length), device="cuda")
    together = passed(model, prompts)
    alone = torch.cat([passed(model, prompts[i : i + 1]) for i in range(n)])
    odds = [each[:, OPTIONS[0]] - each[:, OPTIONS[1]] for each in (together, alone)]
    moved = (odds[0] - odds[1]).abs()
    return {
        "prompts": n,
        "prompt_tokens": length,
        "median": float(moved.median()),
        "largest": float(moved.max()),
        "standard_deviation_of_log_odds": float(odds[1].std()),
        "share_of_answers_that_change": float(((odds[0] > 0) != (odds[1] > 0)).float().mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=240.0, help="no further model is begun after these")
    limit = time.monotonic() + parser.parse_args().seconds
    import torch
    import transformers

    print(
        json.dumps(
            {
                "device": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            }
        ),
        flush=True,
    )
    with torch.inference_mode():
        for name, shape in SHAPES.items():
            if time.monotonic() > limit:
                break
            model = loaded(shape)
            for length in LENGTHS:
                print(json.dumps(asdict(cost(name, model, length))), flush=True)
            print(json.dumps({"model": name, "batching": moved_by_batching(model, 300)}), flush=True)
            del model
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
