"""The softhat architecture in Hugging Face transformers; importing this module registers it.

After `import softhat.export.huggingface` the Auto classes load what `to_huggingface` wrote.
"""

from __future__ import annotations

from softhat.export.huggingface.to_huggingface import to_huggingface
from softhat.export.torch import import_torch
from softhat.io.pretrained import import_transformers

import_torch()
transformers = import_transformers()

# Only now: their modules need both libraries.
from softhat.export.architecture.configuration_softhat import SofthatConfig  # noqa: E402
from softhat.export.architecture.modeling_softhat import SofthatForTokenClassification, SofthatModel  # noqa: E402

__all__ = ["SofthatConfig", "SofthatForTokenClassification", "SofthatModel", "to_huggingface"]

transformers.AutoConfig.register("softhat", SofthatConfig, exist_ok=True)
transformers.AutoModel.register(SofthatConfig, SofthatModel, exist_ok=True)
transformers.AutoModelForTokenClassification.register(
    SofthatConfig, SofthatForTokenClassification, exist_ok=True
)
