"""Training on a user's log as it grows: `pianobench stream`.

==========  ==========================================================================================================
`options`   what was asked for, checked
`kept`      the state's files: after each batch, whole or not at all
`training`  the loop: read, score, train or keep, save
`telling`   what is said of a batch, and of all
==========  ==========================================================================================================
"""
