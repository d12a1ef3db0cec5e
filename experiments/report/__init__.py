"""The report of a reproduction: one HTML file, made of stored tables alone.

`ledgers` reads the tables, `entries` turns verdicts into what is shown of them, `tiers` says what a tier leaves out,
`committed` has the sections on the tables in results/reference, `machines` tells where and with what was measured,
`prose` and `pictures` make HTML of Markdown and of figures; `page` puts all together by ``page.html.jinja``.
"""

from pianobench.experiments.report.page import MOST_BYTES, report

__all__ = ["MOST_BYTES", "report"]
