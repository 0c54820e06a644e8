"""More than can ever be done is refused, whatever is verified; nothing is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

import softhat
from softhat import rasp
from softhat.ahat.gallery import GALLERY
from softhat.models.verification.amounts import MOST
from tests.cli.run import softhat as command

HUGE = 10**30


@pytest.mark.parametrize("name", MOST)
def test_every_kind_of_model_refuses_it(name: str) -> None:
    models = (
        softhat.compile("!c S a", alphabet="abc"),
        softhat.compile(rasp.length, alphabet="ab", max_length=4),
        softhat.simulate(GALLERY["majority"]()),
    )
    for model in models if name != "adversarial" else models[:1]:
        for wrong in (HUGE, MOST[name] + 1, -1, "3", 2.5, None, True):
            with pytest.raises(softhat.SofthatError, match=f"^{name} must be "):
                softhat.verify(model, **{name: wrong})


@pytest.mark.parametrize("name", MOST)
def test_so_does_the_command(name: str, tmp_path: Path) -> None:
    option = f"--{name.replace('_', '-')}"
    refused = command("verify", "a S b", "--alphabet", "ab", option, str(MOST[name] + 1))
    assert refused.code == 2
    assert option in refused.err
