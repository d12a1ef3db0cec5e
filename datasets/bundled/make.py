"""Make the files of this folder anew from the packages that they come from: ``make.py UNPACKED [TO]``.

UNPACKED has a folder for each package of `SOURCES`, named as the package, into which its wheel (unzip) or Debian
package (dpkg-deb -x) is unpacked. Sources with other bytes than those that LICENSES describes are refused. Reading the
files of scanpy takes h5py, those of modeldata take rdata; nothing of pianobench imports this module.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import math
import re
import struct
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pianobench.datasets import bundled, catalogue, reading

Arrays = dict[str, NDArray[Any]]
Table = list[Sequence[str]]  # a header and rows, the label last

_ISLP = "ISLP/ISLP/data"
_STATSMODELS = "statsmodels/statsmodels/datasets"
_FASHION = "dataset-fashion-mnist/usr/share/datasets/fashion-mnist"
_MODELDATA = "r-cran-modeldata/usr/lib/R/site-library/modeldata/data"
_PENGUINS = "r-cran-palmerpenguins/usr/lib/R/site-library/palmerpenguins/extdata"
_SCANPY = "scanpy/scanpy/datasets"
_VEGA = "vega_datasets/vega_datasets/_data"
# Each source and its SHA-256.
SOURCES = {
    f"{_ISLP}/Khan_xtrain.csv": "12148ef490588eb8ac9de3edc89551962a0499bfe78f39726ad58d8d72fd8e90",
    f"{_ISLP}/Khan_ytrain.csv": "ac58f9c840e9e7c47bd17494cf0fe23e7fc9b5371e0d54c1a2a6038f45f637ab",
    f"{_ISLP}/Khan_xtest.csv": "f620e7c092bebd62697c48d0eb586a94533aea9cc98b2ecb65a8c8c2bfe2d05d",
    f"{_ISLP}/Khan_ytest.csv": "92fe0d43b0bb8351873102ca3651a39766c3708da37cf30042fa0fdc58ba01eb",
    f"{_ISLP}/NCI60data.npy": "c31dc79edc9560ae047a156644ad5abcd0001bb121ad8149ca4b9bd372b38073",
    f"{_ISLP}/NCI60labs.csv": "b1495c6b937d7f724de4e3065d4bd491e12c41da772a0665b596ae7b01ece16d",
    f"{_STATSMODELS}/anes96/anes96.csv": "c124d8556d6f8c4329b1fea61e3dc6891c5e663f15b7fe5791235963420ba896",
    f"{_STATSMODELS}/modechoice/modechoice.csv": "d2d72c1db440f8ffce01f58ed39fc1145569ec1703970dac1636c154fc01fd8e",
    f"{_FASHION}/train-images-idx3-ubyte.gz": "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    f"{_FASHION}/train-labels-idx1-ubyte.gz": "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
    f"{_FASHION}/t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    f"{_FASHION}/t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    f"{_MODELDATA}/Rdata.rdx": "c23e1be60f2730fb526ce158a307e154c91a953169fcb8e73350c4e032e14538",
    f"{_MODELDATA}/Rdata.rdb": "2ecef5e8da0f782ae4e3f65d928fe769702accffd8981cc358a3097f6736f58f",
    f"{_PENGUINS}/penguins.csv": "f204db2c753b0937caac3cb35258562c14f073e4bbc76be24b4c51ce22767a93",
    f"{_SCANPY}/10x_pbmc68k_reduced.h5ad": "e71d41e737c941559b7c57c9243bdb3d2c889c2adfdf00e3422ac6b46783676f",
    "river/river/datasets/segment.csv.zip": "91e4402efcb6f6a4087e4bcfcd074976dd8e48819d290f45bae6bd652bd16d75",
    f"{_VEGA}/seattle-weather.csv": "62f0609f787158128aa2bd102967173a4953122dd4f872bf1d502cae1037df0b",
}


def khan_srbct(folder: Path) -> Arrays:
    """Whole numbers that stand for decimals; the labels 1 to 4 named by the sizes of the classes in the paper."""
    arrays: Arrays = {"scale": np.array("1e-10"), "class_names": np.array(["BL", "EWS", "NB", "RMS"])}
    for part in ("train", "test"):
        _, *rows = _rows(folder / _ISLP / f"Khan_x{part}.csv")
        _, *labels = _rows(folder / _ISLP / f"Khan_y{part}.csv")
        arrays[f"X_{part}"] = np.array([[int(Decimal(cell).scaleb(10)) for cell in row] for row in rows])
        arrays[f"y_{part}"] = np.array([label for (label,) in labels], dtype=np.int8)
        if not (arrays[f"X_{part}"] / 1e10 == np.array(rows, dtype=np.float64)).all():
            raise SystemExit(f"Khan_x{part}.csv has more than ten decimals")
    return arrays


def nci60(folder: Path) -> Arrays:
    _, *labels = _rows(folder / _ISLP / "NCI60labs.csv")
    return {"X": np.load(folder / _ISLP / "NCI60data.npy"), "y": np.array([label for (label,) in labels])}


def pbmc68k(folder: Path) -> Arrays:
    """Logarithms of the normalised counts, before the centring and cutting off of the array X beside them."""
    with import_module("h5py").File(folder / _SCANPY / "10x_pbmc68k_reduced.h5ad") as file:
        types = np.array([name.decode() for name in file["uns/bulk_labels_categories"]])
        genes = np.array([name.decode() for name in file["raw.var"]["index"]])
        arrays = {part: file[f"raw.X/{part}"][:] for part in ("data", "indices", "indptr")}
        y = types[file["obs"]["bulk_labels"]]
    return {**arrays, "shape": np.array([len(y), len(genes)]), "y": y, "feature_names": genes}


def fashion_mnist_small(folder: Path) -> Arrays:
    """The first 100 images of each class in each part, in the order of the source."""
    arrays: Arrays = {"scale": np.array(1 / 255)}
    for part, name in (("train", "train"), ("test", "t10k")):
        images, labels = (
            np.frombuffer(gzip.decompress((folder / _FASHION / f"{name}-{file}.gz").read_bytes())[skip:], np.uint8)
            for file, skip in (("images-idx3-ubyte", 16), ("labels-idx1-ubyte", 8))
        )
        chosen = np.sort(np.concatenate([np.flatnonzero(labels == label)[:100] for label in range(10)]))
        arrays[f"X_{part}"], arrays[f"y_{part}"] = images.reshape(-1, 784)[chosen], labels[chosen]
    return arrays


def tate_artists(folder: Path) -> Arrays:
    """How often each word stands in title and medium: artists of 20 works or more, words of 2 works or more."""
    works = _r_table(folder, "tate_text")
    sizes = Counter(works["artist"])
    kept = works[[sizes[artist] >= 20 for artist in works["artist"]]]
    texts = [
        Counter(re.findall(r"[^\W\d_]+", f"{t} {m}".lower())) for t, m in zip(kept.title, kept.medium, strict=True)
    ]
    frequency = Counter(word for text in texts for word in text)
    column = {word: j for j, word in enumerate(sorted(word for word in frequency if frequency[word] > 1))}
    entries = [sorted((column[word], count) for word, count in text.items() if word in column) for text in texts]
    return {
        "data": np.array([count for row in entries for _, count in row], dtype=np.uint8),
        "indices": np.array([j for row in entries for j, _ in row], dtype=np.int32),
        "indptr": np.cumsum([0, *map(len, entries)], dtype=np.int32),
        "shape": np.array([len(entries), len(column)]),
        "y": np.array(list(map(str, kept.artist))),
        "feature_names": np.array(list(column)),
    }


def image_segments(folder: Path) -> Table:
    with zipfile.ZipFile(folder / "river/river/datasets/segment.csv.zip") as archive:
        (name,) = archive.namelist()
        return list(csv.reader(archive.read(name).decode().splitlines()))


def anes96(folder: Path) -> Table:
    """The columns of the logit example in the documentation of statsmodels."""
    rows = list(csv.DictReader((folder / _STATSMODELS / "anes96/anes96.csv").open(), delimiter="\t", quotechar="'"))
    taken = ["selfLR", "age", "educ", "income", "PID"]
    logs = [repr(math.log(float(row["popul"]) + 0.1)) for row in rows]
    return [["logpopul", *taken], *([log, *(row[name] for name in taken)] for log, row in zip(logs, rows, strict=True))]


def travel_mode(folder: Path) -> Table:
    """One row for a traveller: the four modes' columns side by side, less the car's waiting time, which is 0."""
    rows = list(csv.DictReader((folder / _STATSMODELS / "modechoice/modechoice.csv").open(), delimiter=";"))
    modes = {"1": "air", "2": "train", "3": "bus", "4": "car"}
    cells = [(name, mode) for name in ("ttme", "invc", "invt", "gc") for mode in modes if (name, mode) != ("ttme", "4")]
    table: Table = [[*(f"{name}_{modes[mode]}" for name, mode in cells), "hinc", "psize", "mode"]]
    for start in range(0, len(rows), len(modes)):
        one = {row["mode"]: row for row in rows[start : start + len(modes)]}
        (chosen,) = (mode for mode in modes if one[mode]["choice"] == "1")
        table.append([*(one[mode][name] for name, mode in cells), one["1"]["hinc"], one["1"]["psize"], modes[chosen]])
    return table


def seattle_weather(folder: Path) -> Table:
    return [row[1:] for row in _rows(folder / _VEGA / "seattle-weather.csv")]


def penguins(folder: Path) -> Table:
    """The four measurements; two birds without them are left out."""
    header, *rows = _rows(folder / _PENGUINS / "penguins.csv")
    at = [header.index(name) for name in header if name.endswith(("_mm", "_g"))] + [header.index("species")]
    return [[row[j] for j in at] for row in [header, *rows] if "NA" not in [row[j] for j in at]]


def hpc_jobs(folder: Path) -> Table:
    """Categories as one column of 0 and 1 each."""
    jobs = _r_table(folder, "hpc_data")
    columns: dict[str, Iterable[str]] = {}
    for name in jobs.columns:
        if name in ("protocol", "day"):
            for value in jobs[name].cat.categories:
                columns[f"{name}={value}"] = [str(int(cell == value)) for cell in jobs[name]]
        else:
            columns[name] = [str(cell).removesuffix(".0") for cell in jobs[name]]
    return [list(columns), *zip(*columns.values(), strict=True)]


def _rows(path: Path) -> Table:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def _r_table(folder: Path, name: str) -> Any:
    """One data frame of an R package's data: an index, and serialised objects packed by xz."""
    rdata = import_module("rdata")
    index = rdata.conversion.convert(
        rdata.parser.parse_data(gzip.decompress((folder / _MODELDATA / "Rdata.rdx").read_bytes()))
    )
    start, size = map(int, index["variables"][name])
    packed = (folder / _MODELDATA / "Rdata.rdb").read_bytes()[start : start + size]
    (unpacked_size,) = struct.unpack(">I", packed[:4])
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    if (
        packed[4:5] != b"Z"
        or len(raw := lzma.decompress(packed[5:], lzma.FORMAT_RAW, filters=filters)) != unpacked_size
    ):
        raise SystemExit(f"{name} is not packed by xz, as it was in the version described in LICENSES")
    return rdata.conversion.convert(rdata.parser.parse_data(raw))


def _npz(arrays: Arrays) -> bytes:
    """As `numpy.savez`, packed by LZMA, without the time of writing."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array) if array.ndim else array, allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy")
            member.create_system = 3  # the same bytes on every system
            archive.writestr(member, content.getvalue(), zipfile.ZIP_LZMA)
    return stream.getvalue()


def _csv_gz(table: Table) -> bytes:
    return gzip.compress("".join(",".join(row) + "\n" for row in table).encode(), mtime=0)


MADE = (
    *(khan_srbct, nci60, pbmc68k, fashion_mnist_small, tate_artists),
    *(image_segments, anes96, travel_mode, seattle_weather, penguins, hpc_jobs),
)


def main(unpacked: Path, to: Path) -> None:
    for source, expected in SOURCES.items():
        if (found := reading.digest(unpacked / source)) != expected:
            raise SystemExit(f"{source} has SHA-256 {found}, not the {expected} of the version described in LICENSES")
    facts = catalogue.tables("bundled")
    for make in MADE:
        made = make(unpacked)
        path = to / f"{make.__name__}{'.npz' if isinstance(made, dict) else '.csv.gz'}"
        path.write_bytes(_npz(made) if isinstance(made, dict) else _csv_gz(made))
        about = facts[make.__name__]
        read = reading.read(path, parts=about.get("parts", ()), cache=False, **about.get("options", {}))
        print(f"{path.name}: {path.stat().st_size} bytes, n = {read.n}, d = {read.d}, m = {read.m}")
        print(f"    SHA-256 {reading.digest(path)}\n    checksum {read.checksum}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path(bundled.__file__).parent)
