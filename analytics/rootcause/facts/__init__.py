"""Figures that several causes ask a scene for; each says in its docstring what it is and when it is unknown."""
