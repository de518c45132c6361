"""Javelin: streams rows into Lance tables and reads them back at once.

The package follows the released ``lance`` package name for name on what it covers (:data:`COVERED`), so ``import javelin as
lance`` runs existing code. What it does not cover is not there: AttributeError for a name, TypeError for an argument.
"""

from . import errors, mem_wal, optimize, schema
from ._blobs import BlobFile
from ._core import VERSION as __version__
from ._merge_insert import MergeInsertBuilder
from ._scan import LanceScanner
from .covered import COVERED, OURS
from .dataset import LanceDataset, dataset, write_dataset
from .fragment import LanceFragment
from .fresh_view import FreshView
from .mem_wal import LsmScanner, ShardWriter, Ticket
from .session import Session

__all__ = [
    "COVERED",
    "OURS",
    "BlobFile",
    "FreshView",
    "LanceDataset",
    "LanceFragment",
    "LanceScanner",
    "LsmScanner",
    "MergeInsertBuilder",
    "Session",
    "ShardWriter",
    "Ticket",
    "__version__",
    "dataset",
    "errors",
    "mem_wal",
    "optimize",
    "schema",
    "write_dataset",
]
