"""Accounts of providers, and to which hosts the keys of known providers go: to these, and to no other."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..errors import InputError
from .addresses import Address, read_address


@dataclass(frozen=True, slots=True)
class Account:
    """Where a provider is asked by default, and the variables of another address and of its key."""

    url: str
    url_variable: str
    key_variable: str


OPENAI = Account("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY")
ANTHROPIC = Account("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
GOOGLE = Account("https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY")
ACCOUNTS = {"openai": OPENAI, "anthropic": ANTHROPIC, "google": GOOGLE}  # by backend

_OPENAI_HOSTS = (
    "api.openai.com",
    *(f"{region}.api.openai.com" for region in ("us", "eu", "ae", "au", "in", "jp")),
)
_GOOGLE_HOSTS = ("generativelanguage.googleapis.com",)
HOSTS: dict[str, tuple[str, ...]] = {  # of variables that are known to contain the key of one provider
    "OPENAI_API_KEY": _OPENAI_HOSTS,
    "OPENAI_ADMIN_KEY": (),
    "ANTHROPIC_API_KEY": ("api.anthropic.com",),
    "GEMINI_API_KEY": _GOOGLE_HOSTS,
    "GOOGLE_API_KEY": _GOOGLE_HOSTS,
    "AI21_API_KEY": ("api.ai21.com",),
    "CEREBRAS_API_KEY": ("api.cerebras.ai",),
    "CO_API_KEY": ("api.cohere.com", "api.cohere.ai"),
    "COHERE_API_KEY": ("api.cohere.com", "api.cohere.ai"),
    "DASHSCOPE_API_KEY": ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
    "DEEPINFRA_API_KEY": ("api.deepinfra.com",),
    "DEEPINFRA_TOKEN": ("api.deepinfra.com",),
    "DEEPSEEK_API_KEY": ("api.deepseek.com",),
    "FIREWORKS_API_KEY": ("api.fireworks.ai",),
    "GROQ_API_KEY": ("api.groq.com",),
    "MISTRAL_API_KEY": ("api.mistral.ai",),
    "MOONSHOT_API_KEY": ("api.moonshot.ai", "api.moonshot.cn"),
    "NVIDIA_API_KEY": ("integrate.api.nvidia.com",),
    "OPENROUTER_API_KEY": ("openrouter.ai",),
    "PERPLEXITY_API_KEY": ("api.perplexity.ai",),
    "REPLICATE_API_TOKEN": ("api.replicate.com",),
    "SAMBANOVA_API_KEY": ("api.sambanova.ai",),
    "TOGETHER_API_KEY": ("api.together.xyz", "api.together.ai"),
    "XAI_API_KEY": ("api.x.ai",),
    "HF_TOKEN": ("router.huggingface.co",),
    "HUGGING_FACE_HUB_TOKEN": ("router.huggingface.co",),
    "GITHUB_TOKEN": ("models.github.ai",),
    "GH_TOKEN": ("models.github.ai",),
    "AWS_ACCESS_KEY_ID": (),
    "AWS_SECRET_ACCESS_KEY": (),
    "AWS_SESSION_TOKEN": (),
    "AZURE_CLIENT_SECRET": (),
    "GITLAB_TOKEN": (),
    "NPM_TOKEN": (),
    "WANDB_API_KEY": (),
}


def is_own(address: Address, key_variable: str) -> bool:
    """Whether the key in a variable belongs to a server: by its host, or by the provider's own variable."""
    if address.scheme == "https" and address.port == 443 and address.host in HOSTS.get(key_variable, ()):
        return True
    return address.origin in {
        variable.origin
        for account in ACCOUNTS.values()
        if account.key_variable == key_variable and (variable := _custom_server(account)) is not None
    }


def never_sent(address: Address, key_variable: str) -> str:
    """Why the key in a variable never goes to a server; empty where the user decides."""
    if key_variable in HOSTS and not is_own(address, key_variable):
        return (
            f"{key_variable} is the variable of another provider's key, which is never sent to "
            f"{address.server}; put the key of that server into a variable of its own and name that."
        )
    if address.scheme == "http" and not (address.is_local or address.is_private):
        return (
            f"The key in {key_variable} would travel unencrypted to {address.server}; give its https "
            "address, or reach it on this machine through a tunnel (ssh -L)."
        )
    return ""


def _custom_server(account: Account) -> Address | None:
    """The server in a provider's variable of another address, if it is one."""
    try:
        return read_address(os.environ.get(account.url_variable, ""))
    except InputError:
        return None
