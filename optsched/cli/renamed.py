"""Names that commands had in the previous version; they work until the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from optsched.cli.console import say


class _New(NamedTuple):
    """A command that does what another one did."""

    command: str
    option: str
    """What makes it do so; empty: nothing."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Options with other names; an empty name leaves their value alone."""


RENAMED = {
    ("schema",): _New("problems", "--schema"),
    ("certify",): _New("check", "--theorems"),
    ("check-online",): _New("check", "--online", (("--instance", ""),)),
    ("online",): _New("online-bound", ""),
    ("worst", "find"): _New("adversarial find", ""),
    ("worst", "shrink"): _New("adversarial check", "--shrink"),
    ("worst", "check"): _New("adversarial check", ""),
    ("worst", "why"): _New("adversarial check", "--why"),
    ("worst",): _New("adversarial find", ""),
    ("study", "watch"): _New("study show", "--watch"),
    ("study", "export"): _New("study show", ""),
    ("study", "report"): _New("study show", "", (("--follow", "--watch"),)),
}


def in_new_words(words: Sequence[str]) -> list[str]:
    """Words of a command line with today's names; says so if they were others."""
    for length in (2, 1):
        old = tuple(words[:length])
        if old in RENAMED:
            new = RENAMED[old]
            today = f"{new.command} {new.option}".strip()
            say(f"'optsched {' '.join(old)}' is called 'optsched {today}' from now on")
            rest = [_renamed(word, dict(new.renamed)) for word in words[length:]]
            return [*new.command.split(), *filter(None, (*rest, new.option))]
    return list(words)


def _renamed(word: str, names: dict[str, str]) -> str:
    name, equals, value = word.partition("=")
    if name not in names:
        return word
    return names[name] + equals + value if names[name] else value
