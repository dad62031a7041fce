"""Makes a tiny vision-language model with random weights: an Idefics3 of two layers with SmolLM2's tokenizer.

Its answers mean nothing, but they differ between pictures, and between orders of two pictures. vLLM runs this
architecture without torchvision. `python tests/vllm/tiny_vision.py` prints the folder.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

MODEL = runpy.run_path(str(Path(__file__).with_name("model.py")))
TINY_VISION: Path = MODEL["MODELS"] / "tiny-vision"

MARKS = ["<image>", "<fake_token_around_image>", "<global-img>"]
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% else %}<image>{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(target: Path) -> None:
    """Saves model, tokenizer and image processor in the folder `target`."""
    import torch
    from transformers import (
        AutoTokenizer,
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessorPil,
        Idefics3Processor,
        Idefics3VisionConfig,
        LlamaConfig,
    )

    tokenizer = AutoTokenizer.from_pretrained(MODEL["prepare"]())
    tokenizer.add_special_tokens({"additional_special_tokens": MARKS})
    image = tokenizer.convert_tokens_to_ids("<image>")
    layers = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = Idefics3VisionConfig(**layers, image_size=64, patch_size=16)
    text = LlamaConfig(
        **layers,
        num_key_value_heads=1,
        vocab_size=len(tokenizer),
        max_position_embeddings=2048,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.2,
    )
    config = Idefics3Config(
        vision_config=vision,
        text_config=text,
        image_token_id=image,
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    torch.manual_seed(1)
    Idefics3ForConditionalGeneration(config).save_pretrained(target)
    side = {"longest_edge": vision.image_size}
    Idefics3Processor(
        image_processor=Idefics3ImageProcessorPil(size=side, max_image_size=side, do_image_splitting=False),
        tokenizer=tokenizer,
        image_seq_len=4,
        chat_template=CHAT,
    ).save_pretrained(target)


def prepare() -> Path:
    """Makes the model unless it is there."""
    prepared: Path = MODEL["prepare"](TINY_VISION, build)
    return prepared


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")
    print(prepare())
