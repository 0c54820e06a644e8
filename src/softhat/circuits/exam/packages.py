"""Packages of others: found, imported as they are, and their version recorded.

A method's package is one that is installed, or a repository on a path that the user gives. Those
here were written for TransformerLens 2 and for a GPU. While they are imported, TransformerLens has
the names that they ask for, the model among them (`hooked`); while they run, `cuda` is this
machine's processor. Their own code is not changed.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from softhat.io.errors import SofthatError


@dataclass(frozen=True, slots=True)
class Package:
    """Where a method's own code comes from."""

    name: str
    """What Python imports."""
    address: str
    """The repository."""
    inside: str = ""
    """The folder of the repository that holds the modules."""
    also: tuple[str, ...] = ()
    """What else must be installed."""

    def folder(self, repositories: Path) -> Path | None:
        """The modules' folder: of the repository itself, or of one of its name in that folder."""
        for place in (repositories, repositories / self.address.rsplit("/", 1)[-1]):
            if (place / self.inside / self.name).is_dir():
                return place / self.inside
        return None


EAP = Package("eap", "https://github.com/hannamw/EAP-IG", "src")
AUTO_CIRCUIT = Package(
    "auto_circuit",
    "https://github.com/UFO-101/auto-circuit",
    also=("ordered-set", "plotly", "attrs"),
)
SAE_LENS = Package(
    "sae_lens",
    "https://github.com/decoderesearch/SAELens",
    also=("simple-parsing", "tenacity", "nltk", "babe", "plotly-express", "scipy", "narwhals"),
)
SAMPLED_MASKS = Package("mask_samplers", "https://github.com/maxtli/optimalablation")
MIB = Package("MIB_circuit_track", "https://github.com/hannamw/MIB-circuit-track")


def import_package(package: Package, module: str, repositories: Path | None) -> ModuleType:
    """A module of the package, or with "" the package itself; if it is absent, one line that says
    what to install."""
    if repositories is not None and (folder := package.folder(repositories)) is not None:
        place = str(folder.resolve())
        if place not in sys.path:
            sys.path.insert(0, place)
    try:
        with older_lens():
            return importlib.import_module(f"{package.name}.{module}".rstrip("."))
    except ImportError as error:
        extra = f" and pip install {' '.join(package.also)}" if package.also else ""
        raise SofthatError(
            f"{package.name} is not here ({error}): git clone {package.address}{extra}, then give "
            "its folder with --repository"
        ) from None


def version_of(package: Package, repositories: Path | None) -> str:
    """The commit of the repository, or the version of what is installed."""
    folder = None if repositories is None else package.folder(repositories)
    if folder is not None:
        command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"{package.address}@{asked.stdout.strip() or 'unknown'}"
    return f"{package.name} {installed(package.name)}"


def installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


@contextmanager
def older_lens() -> Iterator[None]:
    """TransformerLens with the names of version 2 that packages import."""
    import torch
    import transformer_lens
    from transformer_lens.HookedRootModule import HookedRootModule

    from softhat.circuits.exam.hooked import HookedStock

    def mask(tokenizer: Any, tokens: torch.Tensor, prepend_bos: bool) -> torch.Tensor:
        return torch.ones_like(tokens)  # words of one length: nothing is padded

    names = {
        "HookedTransformer": HookedStock,
        "HookedTransformerConfig": SimpleNamespace,
        "HookedTransformerKeyValueCache": SimpleNamespace,
    }
    # sae_lens loads models and autoencoders into them by these, which the exam does not need.
    loading = ("USE_DEFAULT_VALUE", "get_tokens_with_bos_removed", "lm_cross_entropy_loss")
    mlps = "transformer_lens.components.mlps"
    modules: dict[str, Any] = {
        "transformer_lens.utils": ModuleType("transformer_lens.utils"),
        "transformer_lens.past_key_value_caching": ModuleType("past_key_value_caching"),
        "transformer_lens.HookedTransformer": ModuleType("HookedTransformer"),
        "transformer_lens.components": ModuleType("components"),
        mlps: ModuleType(mlps),
        f"{mlps}.can_be_used_as_mlp": ModuleType("can_be_used_as_mlp"),
        "blobfile": ModuleType("blobfile"),  # auto-circuit downloads autoencoders with it
        "seaborn": ModuleType("seaborn"),  # optimalablation draws with it
    }
    vars(modules["transformer_lens.utils"])["get_attention_mask"] = mask
    vars(modules["transformer_lens.utils"]).update(dict.fromkeys(loading, SimpleNamespace))
    vars(modules[f"{mlps}.can_be_used_as_mlp"])["CanBeUsedAsMLP"] = SimpleNamespace
    vars(modules["blobfile"])["BlobFile"] = SimpleNamespace
    for name in ("past_key_value_caching", "HookedTransformer"):
        vars(modules[f"transformer_lens.{name}"]).update(names)
    vars(modules["transformer_lens.HookedTransformer"]).update(
        HookedRootModule=HookedRootModule, Loss=SimpleNamespace, Output=SimpleNamespace
    )
    absent = [name for name in modules if name not in sys.modules]
    own = vars(transformer_lens)
    before = {name: own[name] for name in names if name in own}
    own.update(names)
    sys.modules.update({name: modules[name] for name in absent})
    try:
        yield
    finally:
        for name in names:
            own.pop(name, None)
        own.update(before)
        for name in absent:
            sys.modules.pop(name, None)


@contextmanager
def on_this_processor() -> Iterator[None]:
    """`torch.zeros(…, device="cuda")` makes a tensor here, and `.to("cuda:0")` moves none."""
    import torch

    zeros, to = torch.zeros, torch.Tensor.to

    def here(*args: Any, **options: Any) -> torch.Tensor:
        if options.get("device") == "cuda":
            options["device"] = "cpu"
        return zeros(*args, **options)

    def stays(tensor: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        return tensor if args[:1] == ("cuda:0",) else to(tensor, *args, **options)

    torch.zeros, torch.Tensor.to = here, stays
    try:
        yield
    finally:
        torch.zeros, torch.Tensor.to = zeros, to
