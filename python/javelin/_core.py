"""Loads the extension module.

pyarrow comes first: the extension links the Arrow libraries of the pyarrow that it was built with, and both must use the
same copy.
"""

import pyarrow  # noqa: F401  (loads libarrow)

try:
    from _javelin_core import *  # noqa: F401,F403
    from _javelin_core import ERROR_KINDS, VERSION  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the extension module of javelin does not load beside pyarrow {pyarrow.__version__}: {error}. It needs the pyarrow "
        "that it was built with; build it with scripts/setup."
    ) from error
