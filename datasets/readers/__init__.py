"""Readers: from a file of one form to features and labels. A new form is one file, and one line of `FORMS`.

A reader is a function ``read(paths, **options) -> Parsed``. It is given the files of one data set, the parts of a split
each in a file of its own, and reads them together: columns, categories and vocabulary are one for all of them. It
checks what is of its form (`Unreadable` says the line); what is true of all data, `pianobench.datasets.reading` checks.
It runs and unpickles nothing that a file holds, and a file's claims about its own size are held against its bytes
before memory is asked for.
"""
