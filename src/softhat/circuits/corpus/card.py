"""The tables of a corpus, and its card: what others read, without softhat.

`data/SPLIT.parquet` has a row a model with everything that is known of it; objects whose shape
differs from model to model (configuration, labels) are JSON texts. `README.md` is a dataset card:
its header tells Hugging Face `datasets` where the splits are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from softhat.circuits.corpus.families import RASP
from softhat.circuits.corpus.shards import SPLITS, Settings
from softhat.io.errors import extra


def import_pyarrow() -> tuple[Any, Any]:
    with extra("pyarrow", "corpus"):
        import pyarrow
        import pyarrow.parquet as parquet
    return pyarrow, parquet


def index_row(line: dict[str, Any], settings: Settings, shard: int) -> dict[str, Any]:
    """A model's row in `index.parquet`: the columns to select models by."""
    size = line["size"]
    names = ("id", "split", "formula", "family", "program", "fragment", "temporal_depth", "nodes")
    row = {name: line[name] for name in names if name in line}  # RASP programs are no formulas
    row |= {"decoder": line["decoder"], "attention": settings.attention, "to": settings.to}
    row["shard"] = shard
    row |= {name: int(size[name]) for name in ("layers", "heads", "d_model", "d_ff")}
    row["parameters"] = int(size["parameters"])
    row |= {f"certified_{dtype}": n for dtype, n in line["max_length"].items()}
    if "samples" in line:
        row |= {name: line["samples"][name] for name in ("accepted", "rejected")}
    return row


def data_row(line: dict[str, Any], settings: Settings, shard: int) -> dict[str, Any]:
    """A model in `data/SPLIT.parquet`: the same and its circuit, labels and configuration."""
    row = index_row(line, settings, shard)
    row["weights"] = f"shards/{shard:05d}.safetensors"
    if settings.disguise is not None:
        row["directions"] = f"shards/{shard:05d}.directions.safetensors"
    if "samples" in line:
        row["at"] = line["samples"]["at"]
    row |= {name: line[name] for name in ("edges", "witnesses", "answers")}
    row |= {name: json.dumps(line[name]) for name in ("values", "rasp") if name in line}
    return {**row, "config": json.dumps(line["config"]), "labels": json.dumps(line["labels"])}


def parquet_bytes(rows: Iterable[dict[str, Any]]) -> bytes:
    pyarrow, parquet = import_pyarrow()
    sink = pyarrow.BufferOutputStream()
    with_schema = pyarrow.Table.from_pylist(list(rows))
    parquet.write_table(with_schema, sink, compression="zstd", row_group_size=100)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def card(settings: Settings, rows: list[dict[str, Any]]) -> str:
    """`README.md`. `rows` are those of the index."""
    counts = Counter(row["split"] for row in rows)
    return "".join(_card(settings, rows, [name for name in dict.fromkeys(SPLITS) if counts[name]]))


def _card(settings: Settings, rows: list[dict[str, Any]], splits: list[str]) -> Iterator[str]:
    kind = {"gpt2": "stock GPT-2", "llama": "stock Llama", "torch": "softhat"}[settings.to]
    what = f"disguised {kind}" if settings.disguise is not None else kind
    yield "---\npretty_name: Transformers with a known circuit\nlicense: apache-2.0\n"
    yield "tags:\n- interpretability\n- circuits\n- mechanistic-interpretability\n"
    yield "configs:\n- config_name: default\n  data_files:\n"
    for split in splits:
        yield f"  - split: {split}\n    path: data/{split}.parquet\n"
    yield "---\n\n# Transformers with a known circuit\n\n"
    programs = settings.family == RASP
    if programs:
        yield f"{len(rows):,} {what} models, compiled by softhat from random RASP programs. The "
        yield "values of every program depend on the word, those of no two are the same on all "
        yield "short words"
    else:
        yield f"{len(rows):,} {what} models, compiled by softhat from random formulas of temporal "
        yield "logic with counting. Every formula is simplified and not constant, no two are "
        yield "equivalent"
    yield ", and every head of every model changes some answer: `witnesses` has a pair of words "
    yield "for each. The models are proved right to the lengths in `certified_*`.\n\n"
    yield from _loading(settings)
    yield from _counted("family", "family", rows)
    yield from _counted("layers", "layers", rows)
    yield from _counted("heads", "heads", rows)
    yield "## Columns\n\n| column | is |\n| --- | --- |\n"
    yield _OF_PROGRAMS if programs else _OF_FORMULAS
    yield _COLUMNS
    yield "## Settings\n\n```json\n"
    yield json.dumps({"seed": settings.seed, "alphabet": list(settings.alphabet)}, indent=1)
    yield "\n```\n"


def _loading(settings: Settings) -> Iterator[str]:
    yield "## Loading\n\n```python\nimport json\n\n"
    yield "from datasets import load_dataset\nfrom safetensors import safe_open\n"
    if settings.to == "gpt2":
        yield "from transformers import GPT2Config, GPT2ForTokenClassification\n"
    elif settings.to == "llama":
        yield "from transformers import LlamaConfig, LlamaForTokenClassification\n"
    yield '\nfolder = "."  # this one\nrow = load_dataset(folder, split="train")[0]\n'
    yield 'with safe_open(f"{folder}/{row[\'weights\']}", "pt") as file:\n'
    yield "    prefix = f\"{row['id']}/\"\n"
    yield "    names = [name for name in file.keys() if name.startswith(prefix)]\n"
    yield "    weights = {name.removeprefix(prefix): file.get_tensor(name) for name in names}\n"
    if settings.to in ("gpt2", "llama"):
        name = "GPT2" if settings.to == "gpt2" else "Llama"
        yield f'config = {name}Config(**json.loads(row["config"]))\n'
        yield f"model = {name}ForTokenClassification(config).eval()\n"
        yield "model.load_state_dict(weights)\n"
        yield "```\n\nTokens are the symbols in the order of `settings` below, then `<bos>`, which "
        yield "comes first in every word, and `<eos>`, which pads. The logits of a symbol are "
        yield "(false, true): is the formula true there? `softhat corpus extract . ID -o DIR` "
        yield "writes one model as a checkpoint of its own, with tokenizer and certificate.\n\n"
    else:
        yield "```\n\nThese are tensors of softhat's own architecture: "
        yield "`softhat.corpus.load_model(folder, id)` makes the model, and `softhat corpus "
        yield "extract . ID -o DIR` a model folder of it.\n\n"


def _counted(title: str, name: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    counts = Counter(row[name] for row in rows)
    yield f"| {title} | models |\n| --- | --- |\n"
    for value, count in sorted(counts.items()):
        yield f"| {value} | {count:,} |\n"
    yield "\n"


_OF_FORMULAS = """\
| `id`, `split` | the number of the model; 8 of 10 `train`, one `validation`, one `test` |
| `formula`, `family`, `program` | what it computes, how it was drawn, the program that it was |
| `fragment`, `temporal_depth`, `nodes`, `decoder` | of the formula |
| `accepted`, `rejected`, `at` | sample words, and the position at which they are accepted |
"""

_OF_PROGRAMS = """\
| `id`, `split` | the number of the model; 8 of 10 `train`, one `validation`, one `test` |
| `program`, `nodes` | Python that begins with `from softhat import rasp`; its s-ops and selectors |
| `values` | JSON: sample words, and the program's value at each position |
| `rasp` | JSON: the attention program, and how outputs are read as values |
"""

_COLUMNS = """\
| `layers`, `heads`, `d_model`, `d_ff`, `parameters` | of the model; `heads`: of the circuit |
| `certified_float32` … | words of up to so many symbols are proved to be answered right |
| `weights`, `directions` | the files with the tensors, named `ID/…` |
| `edges` | of the circuit, named as in edge attribution patching; they carry `input`, which |
| | differs from word to word, or a `constant` |
| `witnesses` | for each node two words of one length: taken from the corrupt word, what the node |
| | adds changes an answer of the clean one |
| `answers` | words that differ in one place and in an answer |
| `config`, `labels` | JSON: the architecture's configuration; what every head, neuron and |
| | coordinate (or direction) computes |

"""
