"""Makes a tiny vision-language model with random weights: LLaVA with two layers each, and SmolLM2's tokenizer.

Its answers mean nothing; they differ between pictures, which is what the tests of the way of images need.
`python tests/vllm/tiny_vision.py` prints the folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import model

TINY_VISION = model.MODELS / "tiny-llava"

CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% else %}<image>{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(tokenizer_folder: Path, target: Path) -> None:
    """Saves model, tokenizer and image processor in the folder `target`."""
    import torch
    from transformers import (
        AutoTokenizer,
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    image_token = tokenizer.convert_tokens_to_ids("<image>")
    layers = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = CLIPVisionConfig(**layers, image_size=64, patch_size=16)
    text = LlamaConfig(
        **layers,
        num_key_value_heads=1,
        vocab_size=len(tokenizer),
        max_position_embeddings=2048,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.2,
    )
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=image_token, image_seq_length=16)
    torch.manual_seed(1)
    LlavaForConditionalGeneration(config).save_pretrained(target)
    side = {"height": vision.image_size, "width": vision.image_size}
    LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size=side, crop_size=side),
        tokenizer=tokenizer,
        patch_size=vision.patch_size,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    ).save_pretrained(target)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    build(model.SMOLLM2, Path(sys.argv[1]))
