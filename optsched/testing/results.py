"""The results of a conformance run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class Word(StrEnum):
    """What came of one case on one back end."""

    RIGHT = "right"
    REFUSED = "refused"
    """As its features say, in words, before solving."""
    UNPROVEN = "unproven"
    """Everything it said is true, but it did not say all."""
    WRONG = "wrong"
    """It said something false, failed, refused what it should take or took what it should not."""


@dataclass(frozen=True)
class ConformanceResult:
    """One case on one back end."""

    case: str
    solver: str
    word: Word
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.solver}: {self.case}: {self.word}" + (f": {self.detail}" * bool(self.detail))


@dataclass(frozen=True)
class ConformanceReport:
    """All results on one back end."""

    solver: str
    native: frozenset[str]
    results: tuple[ConformanceResult, ...]

    def of(self, word: Word) -> list[ConformanceResult]:
        """The results of one kind."""
        return [v for v in self.results if v.word is word]

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return bool(self.results) and not self.of(Word.WRONG)

    def __str__(self) -> str:
        count = Counter(v.word for v in self.results)
        words = ", ".join(f"{count[word]} {word}" for word in Word)
        native = ", ".join(sorted(self.native)) or "nothing but linear rows"
        lines = [
            f"{self.solver} (takes natively: {native})",
            f"{len(self.results)} cases: {words}",
        ]
        lines += [f"  {v}" for word in (Word.WRONG, Word.UNPROVEN, Word.REFUSED)
                  for v in self.of(word)]  # fmt: skip
        return "\n".join(lines)
