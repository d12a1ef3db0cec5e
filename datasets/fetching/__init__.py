"""Fetching data: what to get from whom (one module a source), how (`download`), and what is kept of it (`receipts`).

What is fetched lies below `places.fetched_folder()`, one folder for each name: the files as they came, and a receipt
that is written last. Without a receipt nothing there counts; with one, the files are held against its checksums
whenever they are read.
"""
