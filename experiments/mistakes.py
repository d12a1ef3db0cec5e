"""The user's mistakes, which end as one readable line and not as a traceback."""


class UserMistake(ValueError):
    """Something the user wrote cannot be used; the message names it, what was expected, and the remedy."""
