"""Decides which span attributes may be kept: never message text, by default nothing that names a person."""

from __future__ import annotations

import re

#: Longer texts are content, whatever they are called.
MAX_TEXT = 1024
#: Words in the names of attributes that hold what was said. Only texts are dropped: `prompt_tokens` is a number.
_CONTENT = re.compile(
    r"message|prompt(?!_?(id|version|cache))|completion(?!_?(id|tokens))|choice|content|(^|[._])text|body|raw_?response"
    r"|argument|instruction|(^|[._])(input|output|query|answer|documents?)([._]value)?$|stack_?trace|exception|header"
    r"|parameters|tool[._]?(calls?|definitions)|logprobs|token_ids",
    re.IGNORECASE,
)
#: E-mail addresses, network addresses, key hashes and what identifies an end user or a key.
_PERSON = re.compile(
    r"e[-_]?mail|ip_?address|(^|[._])(client_)?ip$|client[._](address|port|socket)|(^|[._])peer[._]|remote_?addr"
    r"|net[._]sock|source[._]address|key[._]?hash|hashed|user_agent|end_?user|^llm\.user$|^enduser|user_name|password|secret"
    r"|authorization|cookie",
    re.IGNORECASE,
)
_MAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


def keeps(name: str, text: str | None, exempt: frozenset[str] = frozenset()) -> bool:
    """Return whether an attribute may be kept; `text` is None for numbers and booleans.

    exempt: names that are kept although they may name a person; message text has no exemption.

    >>> keeps("gen_ai.input.messages", "hello"), keeps("gen_ai.usage.prompt_tokens", None)
    (False, True)
    """
    if text is None:
        return name in exempt or not _PERSON.search(name)
    if len(text) > MAX_TEXT or _CONTENT.search(name):
        return False
    if name in exempt:
        return True
    return not _PERSON.search(name) and not is_private(text)


def is_private(text: str) -> bool:
    """Return whether a text is content or names a person, whatever it is called.

    >>> is_private("cmpl-1"), is_private("ann@example.org")
    (False, True)
    """
    return len(text) > MAX_TEXT or ("@" in text and _MAIL.search(text) is not None)
