"""`pianobench stream`: learn from a log that keeps growing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def stream(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="A file of svmlight lines or of KDD Cup 2012's layout, or a name as kdd12:rows=3e7."
        ),
    ],
    method: Annotated[
        str, typer.Option(metavar="M", help="When to train and on what: see docs/stream.md.")
    ] = "sa-lbfgs-repaired",
    batch_rows: Annotated[int, typer.Option("--batch-rows", metavar="N", help="Rows of a batch.")] = 100_000,
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of a sample at most.")] = 100_000,
    kept: Annotated[
        str | None,
        typer.Option(metavar="N", help="Old rows that are kept to draw from, or all; by default 100000."),
    ] = None,
    lam: Annotated[float, typer.Option(metavar="L", help="Strength beside the sum over all rows.")] = 1.0,
    penalty: Annotated[str, typer.Option(metavar="KIND", help="l2 or l1.")] = "l2",
    tol: Annotated[float, typer.Option(metavar="T", help="Certified relative gap of each training.")] = 1e-4,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the state is kept; by default LOG.stream.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORM", help="svmlight or kdd12; by default the first line tells."),
    ] = None,
    model: Annotated[int, typer.Option(metavar="1|2", help="Features of clicks; 2 adds query x ad.")] = 1,
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="All labels that will come; by default those of the first batch."),
    ] = None,
    tolerated: Annotated[
        float, typer.Option(metavar="SHARE", help="Broken lines of a click log that may be left out.")
    ] = 1e-3,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads of the kernels; results do not depend on it.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, a line each batch, in place of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the totals alone.")] = False,
) -> None:
    """Learn from a log batch by batch; the same command goes on when the log has grown."""
    from pianobench.datasets.entry import MissingData
    from pianobench.datasets.generators.parameters import UnusableParameter
    from pianobench.datasets.reading import UnusableFile
    from pianobench.datasets.streamed.opening import generated, open_log
    from pianobench.experiments.mistakes import UserMistake
    from pianobench.experiments.streaming import options as choices
    from pianobench.experiments.streaming import telling
    from pianobench.experiments.streaming.kept import Kept
    from pianobench.experiments.streaming.training import Streaming

    labels = choices.class_list(classes)
    try:
        reader = open_log(log, form=form, model=model, classes=labels, tolerated=tolerated)
        place = state or (Path(log.replace(":", "-")) if generated(log) else Path(log))
    except (UnusableFile, UnusableParameter, MissingData, ValueError) as error:
        raise UserMistake(f"{log}: {error}") from error
    if state is None:
        place = place.with_name(place.name + ".stream")
    elif state.is_dir():
        raise UserMistake(f"--state {place}: it is a folder; give a file in it, for example {state / 'log.stream'}")
    elif state.exists() and Path(log).exists() and state.samefile(log):
        raise UserMistake(f"--state {place}: it is the log itself; give another file, or leave it out")
    elif not place.parent.is_dir():
        raise UserMistake(f"--state {place}: there is no folder {place.parent}; make it, or give another file")
    chosen = choices.Options(
        method=method,
        batch_rows=batch_rows,
        rows=rows,
        kept=choices.kept_rows(kept, method),
        lam=lam,
        penalty=penalty,
        tol=tol,
        form=reader.form,
        model=model,
        classes=labels,
        tolerated=tolerated,
        seed=seed,
    )
    run = Streaming(reader, chosen, Kept(place, chosen, Path(log).name), threads)
    try:
        for told in run.batches():
            if not quiet:
                typer.echo(json.dumps(telling.row(told)) if as_json else telling.line(told))
    except KeyboardInterrupt:
        typer.echo(f"pianobench: stopped after batch {run.done}; the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    if run.stand is None:
        told_so = "; ".join(reader.remarks()) or "lines of svmlight or of KDD Cup 2012's layout are expected"
        raise UserMistake(f"{log} has no rows yet: {told_so}")
    found = telling.totals(run.stand, run.done - run.before, place, reader.remarks())
    typer.echo(json.dumps({"totals": found}) if as_json else "\n".join(telling.sentences(found, log)))
