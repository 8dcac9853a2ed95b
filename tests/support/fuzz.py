"""Seeded mutations of recorded pages, and what prometheus_client makes of the same text: the oracle of the parser."""

from __future__ import annotations

from random import Random

from prometheus_client.parser import text_string_to_metric_families

from signals.pages import Page

Sample = tuple[str, tuple[tuple[str, str], ...], float]
#: Pieces that have broken parsers before: spacing, escapes, numbers of every kind, exemplars, half lines, text.
PIECES = (
    " ", "  ", "\t", "{", "}", '"', "\\", '\\"', "\\n", "\\\\", ",", "=", "#", " # ", "# TYPE a counter\n",
    "# HELP x\n",
    "_", "1_0", "NaN", "+Inf", "-Inf", "Infinity", "1e5", "1E-7", "0x10", "1600000000000", " 1600000000000", ".5", "5.",
    "--1", "\n", "\r", "\r\n", "é", "\u2028", "\x0b", "{}", ',a="b"', ', le="1"', 'le="1e0"', '__name__="x"',
    'a="b",a="c"',
    ' # {trace_id="abc"} 0.5', ' # {trace_id="abc"} 0.5 1600000000.1', "٣", "9" * 30, "m{} 1\n", "m{a=\"}\"} 1\n",
)  # fmt: skip

#: What may stand where a value is expected.
VALUES = (
    "0", "-1", "1e308", "1e999", "NaN", "nan", "+Inf", "inf", "-Infinity", "1_000", "0x1F", "", " ", "1 ", "1.5.2",
    "12 1700000000000", "12 -5", "12 x", "9007199254740993", "1" * 400, "٣", "1\t2", "1\r", "true",
)  # fmt: skip


def mutate(text: str, random: Random) -> str:
    """Return a page with one to four changes: text put in, cut out, doubled, moved or overwritten, or another value."""
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text))
        to = min(len(text), at + random.choice((1, 1, 2, 5, 40, 400)))
        kind = random.randrange(6)
        if kind == 0:
            text = text[:at] + random.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[to:]
        elif kind == 2:
            text = text[:to] + text[at:to] + text[to:]
        elif kind == 3:
            piece = text[at:to]
            text = text[:at] + text[to:]
            put = random.randrange(len(text) + 1)
            text = text[:put] + piece + text[put:]
        elif kind == 4:
            text = text[:at] + random.choice(PIECES) + text[to:]
        else:
            lines = text.split("\n")
            line = random.randrange(len(lines))
            lines[line] = f"{lines[line].rpartition(' ')[0]} {random.choice(VALUES)}"
            text = "\n".join(lines)
    return text if text.endswith("\n") else text + "\n"


def excerpt(text: str, random: Random, lines: int) -> str:
    """Return a stretch of whole lines, so that most changes hit a sample that is new and cheap to compare."""
    found = text.splitlines(keepends=True)
    start = random.randrange(max(1, len(found) - lines))
    return "".join(found[start : start + lines])


def ours(page: Page) -> list[Sample]:
    """Return the samples of a page as plain values."""
    return [_sample(series.name, dict(series.labels), value) for series, value in page.samples()]


def oracle(text: str) -> list[Sample]:
    """Return what prometheus_client reads line by line, without the lines that it refuses.

    By line, because a target's other lines must survive one broken line; it refuses whole pages.
    """
    found: list[Sample] = []
    for line in text.split("\n"):
        if not line or line.isspace() or line.lstrip()[:1] == "#":
            continue
        try:
            samples = [sample for family in text_string_to_metric_families(line) for sample in family.samples]
        except (ValueError, IndexError, KeyError, TypeError):
            continue
        found.extend(_sample(sample.name, dict(sample.labels), _float(sample.value)) for sample in samples[:1])
    return found


def whole_page(text: str) -> list[Sample] | None:
    """Return what prometheus_client reads from the page at once, under the names on the page; None if it refuses."""
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except (ValueError, IndexError, KeyError, TypeError):
        return None
    return [_sample(sample.name, dict(sample.labels), _float(sample.value)) for sample in samples]


def same_names(ours_: list[Sample], theirs: list[Sample]) -> bool:
    """Return whether two readings agree; prometheus_client writes `_total` behind every counter's name."""
    return len(ours_) == len(theirs) and all(
        (a[0] == b[0] or a[0] + "_total" == b[0]) and a[1:] == b[1:] for a, b in zip(ours_, theirs, strict=True)
    )


def _sample(name: str, labels: dict[str, str], value: float) -> Sample:
    return name, tuple(sorted(labels.items())), _NAN if value != value else value


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


#: NaN is not equal to itself; two readings that both say NaN agree.
_NAN = -1.2345678987654321e300
