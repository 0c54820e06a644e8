"""The trusted base stands alone: copied out with what it may import, it certifies a folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import softhat

ROOMS = ("io", "numbers", "numerics", "logic", "proof", "transformer")
LEFT_OUT = {"logic": ("optimise",), "transformer": ("lowering",)}


def test_the_proof_is_copied_out_and_still_certifies(tmp_path: Path) -> None:
    source = Path(softhat.__file__).parent
    package = tmp_path / "softhat"
    package.mkdir()
    (package / "__init__.py").write_text('"""The trusted base alone."""\n')
    for room in ROOMS:
        left_out = shutil.ignore_patterns(*LEFT_OUT.get(room, ()))
        shutil.copytree(source / room, package / room, ignore=left_out)
    formulas = ("(!c S a) & #(a) > #(b) | Y b", "X a -> #*(b) >= 2")
    code = (
        "import json, sys\n"
        "from softhat.io.files import read_json, read_tensors, read_text\n"
        "from softhat.logic.syntax.parse import parse\n"
        "from softhat.numbers.laws import from_json\n"
        "from softhat.numbers.stored import from_name\n"
        "from softhat.proof.check import certify\n"
        "from softhat.transformer.weights import Coordinate, Layer, Sparse, Transformer\n"
        "folder = sys.argv[1]\n"
        "c, t = read_json(f'{folder}/config.json'), read_tensors(f'{folder}/model.safetensors')\n"
        "d = c['size']['d_model']\n"
        "s = lambda name: Sparse.from_dense(t[name])\n"
        "def layer(k, heads):\n"
        "    at = f'layers.{k}.'\n"
        "    import numpy as np\n"
        "    empty = {'into': np.zeros((0, d)), 'into_bias': np.zeros(0),\n"
        "             'out': np.zeros((d, 0)), 'out_bias': np.zeros(d)}\n"
        "    get = lambda n: t[at + n] if at + n in t else empty[n]\n"
        "    return Layer(*([''] * len(heads) for _ in range(2)),\n"
        "        tuple(h['mask'] for h in heads), tuple(from_json(h['law']) for h in heads),\n"
        "        s(at + 'query'), s(at + 'key'), s(at + 'value'), s(at + 'output'),\n"
        "        Sparse.from_dense(get('into')), get('into_bias'),\n"
        "        Sparse.from_dense(get('out')), get('out_bias'))\n"
        "model = Transformer(c['attention'], tuple(c['alphabet']), c['propositional'],\n"
        "    tuple(c['sinks']), tuple(map(from_name, c['positions'])), s('embedding'),\n"
        "    s('position_embedding'), tuple(layer(k, e['heads']) for k, e in\n"
        "    enumerate(c['layers'])), tuple(c['outputs']), s('readout'), t['readout_bias'],\n"
        "    (Coordinate(()),) * d)\n"
        "name, text = read_text(f'{folder}/formula.txt').strip().split(': ', 1)\n"
        "found = certify(model, {name: parse(text, alphabet=c['alphabet'])})\n"
        "assert not found.void, found.void\n"
        "print(json.dumps(found.max_length))\n"
    )
    for number, formula in enumerate(formulas):
        model = softhat.compile(formula, alphabet="abc")
        folder = tmp_path / f"model{number}"
        model.save(folder)
        ran = subprocess.run(
            [sys.executable, "-c", code, str(folder)],
            env={"PYTHONPATH": str(tmp_path), "PATH": ""},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout) == model.certificate.max_length
