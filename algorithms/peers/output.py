"""What a library's compiled code prints, which no stream of Python sees."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    """Catch what is written to the process's two outputs; the list has it, as one text, at the end."""
    text: list[str] = []
    with tempfile.TemporaryFile() as caught, contextlib.ExitStack() as stack:
        for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
            stream.flush()
            kept = os.dup(number)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            stack.callback(stream.flush)
            os.dup2(caught.fileno(), number)
        try:
            yield text
        finally:
            stack.close()
            caught.seek(0)
            text.append(caught.read().decode(errors="replace").strip())
