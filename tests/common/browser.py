"""A page in headless Chromium, at three widths in one start: what does not load, resolve, fit or read well."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (360, 800, 1400)
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--log-level=0", "--v=0"),
)
# Each frame has the width of a window; what is found replaces everything, so that the answer is short.
_HARNESS = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const page = PAGE, widths = WIDTHS;
function look(frame, width) {
  const doc = frame.contentDocument, all = (query) => [...doc.querySelectorAll(query)];
  const ids = all("[id]").map(e => e.id), target = (e) => e.getAttribute("href");
  return {
    width, sideways: doc.documentElement.scrollWidth - doc.documentElement.clientWidth,
    links: all("a, use").map(target).filter(h => !h || h[0] !== "#" || !doc.getElementById(h.slice(1))),
    images: all("img").filter(e => !e.complete || !e.naturalWidth).map(e => e.src.slice(0, 60)),
    mute: all("img").filter(e => !e.alt.trim()).length,
    twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    headings: all("h1, h2, h3, h4, h5, h6").map(e => Number(e.tagName[1])),
    bare: all("table").filter(e => !e.querySelector("th[scope=col]")).length,
    scripts: all("script, link[rel=stylesheet]").length, shown: all("img").length, tables: all("table").length,
  };
}
Promise.all(widths.map(width => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 900px; border: 0`;
  frame.onload = () => done(look(frame, width));
  frame.srcdoc = page;
  document.body.append(frame);
}))).then(found => {
  const out = document.createElement("pre");
  out.textContent = "FOUND" + JSON.stringify(found) + "END";
  document.documentElement.replaceChildren(out);
});
</script>"""


@dataclass(frozen=True)
class Seen:
    """What the browser found at each width, what it said on its console, and what it asked the network for."""

    widths: tuple[dict[str, Any], ...]
    console: tuple[str, ...]
    requests: tuple[str, ...]

    @property
    def faults(self) -> set[str]:
        """Names of all that is wrong, for an assertion that says it."""
        found = {name for one in self.widths for name in ("links", "images", "mute", "twice", "bare") if one[name]}
        found |= {"sideways" for one in self.widths if one["sideways"] > 0}
        found |= {"headings" for one in self.widths if not _in_order(one["headings"])}
        return found | ({"console"} if self.console else set()) | ({"requests"} if self.requests else set())


def look(page: str, folder: Path) -> Seen:
    """Load a page in frames of `WIDTHS` and look at it; a test without Chromium is skipped, which CI refuses."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    place, log = folder / "harness.html", folder / "net.json"
    text = json.dumps(page).replace("</", "<\\/")
    place.write_text(_HARNESS.replace("WIDTHS", str(list(WIDTHS))).replace("PAGE", text, 1), "utf-8")
    words = [f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [chromium, *_QUIET, *words, "--dump-dom", place.as_uri()], capture_output=True, text=True, timeout=120
    )
    found = re.search(r"FOUND(.*)END", unescape(done.stdout), re.DOTALL)
    assert found is not None, done.stderr
    console = tuple(line for line in done.stderr.splitlines() if ":CONSOLE" in line)
    events = [event.get("params", {}) for event in json.loads(log.read_text("utf-8"))["events"]]
    # What Chromium asks for by itself has another key.
    asked = (str(one["url"]) for one in events if "file://" in str(one.get("network_isolation_key")))
    requests = tuple(dict.fromkeys(url for url in asked if not url.startswith(("file:", "data:"))))
    return Seen(tuple(json.loads(found[1])), console, requests)


def _in_order(levels: list[int]) -> bool:
    """One first heading, and none that skips a level."""
    return levels.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(levels))
