"""Clicks of KDD Cup 2012, track 2: its files, a generator of the same layout, features, and the ranking's area.

================  ====================================================================================================
`layout`          the twelve columns; `Log`, some rows; `Source`, rows that can be read again
`files`           readers of the training file and the side tables (`sifted`: any size, and what was left out and why)
`clicks`          the generator (`effects`: latent effects without tables); `writing` writes it as files (`text`)
`rates`           normalised click rates of identifiers and conjunctions, learned on the training rows (`tables`)
`features`        about 1000 sparse features of them; models 1 and 2
`encoded`         rows as features and counts: weighted, expanded or binary problems
`prepared`        encoded train and test rows, kept on disk
`auc`             area under the ROC curve of weighted rows, with its standard error
`kinds`, `named`  the names of the registry
================  ====================================================================================================
"""
