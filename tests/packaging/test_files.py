"""What the files of the repository hold and may not hold."""

import json
import re
import tomllib
from pathlib import Path

import pytest

# Put together here, so that this file does not hold what it forbids.
FORBIDDEN = {
    "a registry's address": "|".join(
        [
            r"pypi\.(?:" + "org|python)",
            "files.python" + "hosted",
            "registry.npm" + "js",
            "conda.ana" + "conda",
            "deb.deb" + "ian",
            r"--(?:extra-)?ind" + "ex-url",
            "--find-" + "links",
        ]
    ),
    "a path of one machine": "|".join([r"(?<![\w.])/" + word + "/" for word in ("work", "root", "home", "Users")]),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str, root: Path, files: list[str]) -> None:
    pattern = re.compile(FORBIDDEN[what].encode())
    found = []
    for name in files:
        path = root / name
        if path.is_file() and not path.is_symlink():
            found += [f"{name}: {match[0].decode()}" for match in pattern.finditer(path.read_bytes())]
    assert not found


def test_lock_holds_only_hashed_versions(root: Path) -> None:
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in lock.splitlines() if not line.startswith("#")]
    pin = r"[a-z0-9-]+==[\w.]+(?: ; [^\\]+)? \\"
    digest = r" {4}--hash=sha256:[0-9a-f]{64}(?: \\)?"
    assert [line for line in lines if not re.fullmatch(f"{pin}|{digest}", line)] == []


def locked(root: Path) -> dict[str, str]:
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([\w.]+)", lock, flags=re.MULTILINE))


def test_lock_holds_every_dependency(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    versions = locked(root)
    for requirement in [*project["dependencies"], *extras["test"], *extras["dev"]]:
        name, bound = requirement.partition(";")[0].split(">=")
        assert parts(versions[name]) >= parts(bound), requirement


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def test_asv_measures_the_locked_versions(root: Path) -> None:
    required = json.loads((root / "asv.conf.json").read_text(encoding="utf-8"))["matrix"]["req"]
    versions = locked(root)
    pinned = {name: pins for name, pins in required.items() if not name.startswith("pip+")}
    assert pinned == {name: [versions[name]] for name in pinned}


def test_versions_agree(root: Path) -> None:
    import pianobench

    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pianobench.__version__}\n" in citation
