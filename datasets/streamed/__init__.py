"""Logs read batch by batch from any place on, in bounded memory, for learning from rows that keep arriving.

===========  =========================================================================================================
`reader`     what a batch and a reader of batches are
`lines`      whole lines of a file that may still grow, the place reached, and a print of what was read
`svmlight`   batches of svmlight's lines
`clicks`     batches of KDD Cup 2012's rows, from files and generators, as features learned on the first batch
`opening`    which reader reads which log
===========  =========================================================================================================
"""
