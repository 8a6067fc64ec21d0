"""A study looked at while it runs: the table in the terminal, and the page that follows it."""

import io

import pytest
from rich.console import Console

from optsched.cli import study_show
from optsched.solvers.solution import Status
from optsched.study import Store, StudyGrid, follow, follow_study, run_study
from optsched.study.plan import plan


def grid(seeds):
    return StudyGrid(
        "covering", {"items": [4, 6]}, seeds=range(seeds), heuristics=["greedy", "shuffled"]
    )


@pytest.fixture
def done(tmp_path):
    """The store of a study that is done."""
    path = tmp_path / "study.sqlite"
    run_study([grid(2)], path, workers=1)
    return path


@pytest.fixture
def unfinished(done):
    """A store whose study has grown since it ran: 12 of 30 runs."""
    with Store.open(done) as store:
        store.set_plan(plan([grid(5)]), 2)
    return done


@pytest.fixture
def naps(monkeypatch):
    """What happens, one after the other, while a follower rests."""
    happens = []
    monkeypatch.setattr(follow.time, "sleep", lambda _: happens.pop(0)())
    return happens


def states(path):
    return [look.state for look in follow_study(path, every=0.5)]


def test_a_study_that_is_done_is_looked_at_once(done, naps):
    assert states(done) == ["done"]


def test_a_study_is_running_as_long_as_somebody_writes_its_store(done, naps):
    writer = Store.open(done)
    naps += [lambda: None, writer.close]
    assert states(done) == ["running", "running", "done"]


def test_a_study_that_nobody_writes_has_stopped_after_a_while(unfinished, naps, monkeypatch):
    naps += [lambda: monkeypatch.setattr(follow, "QUIET", 0.0)]
    assert states(unfinished) == ["running", "stopped"]


def test_a_look_keeps_nobody_from_writing(unfinished, naps):
    writer = Store.open(unfinished)
    writer._sql.execute("PRAGMA busy_timeout = 0")
    naps += [writer.close]
    found = []
    for look in follow_study(unfinished, every=0.5):
        if look.state == "running":
            look.store.runs()
            writer.forget([Status.OPTIMAL])
            found.append(look.results.progress.finished)
            run_count = len(look.store.runs())
            break
    assert found == [12]
    assert run_count == 8
    writer.close()


def test_what_is_read_in_one_moment_is_of_that_moment(unfinished):
    with Store.open(unfinished) as writer, Store.reading(unfinished) as reader:
        with reader.one_moment():
            before = len(reader.runs())
            writer.forget([Status.DONE])
            assert len(reader.runs()) == before == 12
        assert len(reader.runs()) == 4


def test_where_there_is_no_terminal_the_table_is_printed_once(cli, unfinished, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = cli("study", "show", unfinished, "--watch")
    assert shown.exit_code == 0
    assert "12 of 30 runs" in shown.stdout
    assert "left while it runs" in shown.stdout
    lines = [line for line in shown.stdout.splitlines() if line.startswith(("problem", "cov"))]
    head, greedy, _, exact = map(str.split, lines)
    assert " ".join(head) == "problem method done proven failed ratio so far interval"
    assert greedy[:7] == ["covering", "greedy", "4", "of", "10", "4", "0"]
    assert float(greedy[7]) >= 1
    assert exact[2:7] == ["4", "of", "10", "4", "0"]


def screen(monkeypatch, height):
    """A terminal of that many lines, and what is on it."""
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=110, height=height, color_system=None)
    monkeypatch.setattr(study_show, "console", lambda: terminal)
    return text


def test_in_a_terminal_the_table_lives_until_the_study_is_done(cli, done, naps, monkeypatch):
    text = screen(monkeypatch, 40)
    writer = Store.open(done)
    naps += [writer.close]
    assert cli("study", "show", done, "--watch").exit_code == 0
    assert "12 of 12 runs" in text.getvalue()
    assert naps == []


def test_a_low_screen_shows_the_first_algorithm_of_each_problem(cli, done, monkeypatch):
    text = screen(monkeypatch, 8)
    assert cli("study", "show", done, "--watch").exit_code == 0
    assert "greedy" in text.getvalue()
    assert "shuffled" not in text.getvalue()


def test_who_watches_a_study_that_stops_hears_how_it_goes_on(cli, unfinished, monkeypatch):
    screen(monkeypatch, 40)
    monkeypatch.setattr(follow, "QUIET", 0.0)
    ended = cli("study", "show", unfinished, "--watch")
    assert ended.exit_code == 1
    assert "optsched study run goes on from here" in ended.stderr


def test_a_followed_page_reloads_itself_until_the_study_is_done(cli, done, naps, tmp_path):
    output, pages = tmp_path / "page.html", []
    writer = Store.open(done)

    def rest():
        pages.append(output.read_text())
        writer.close()

    naps += [rest]
    ended = cli("study", "show", done, "-o", output, "--watch", "--every", 3)
    assert ended.exit_code == 0
    assert '<meta http-equiv="refresh" content="3">' in pages[0]
    assert "loads itself again" in pages[0]
    assert "refresh" not in output.read_text()
    assert "12 of 12 runs" in ended.stderr


@pytest.mark.parametrize("options", [["--watch"], ["--watch", "--once"], []])
def test_a_store_that_is_not_there_is_one_sentence(cli, tmp_path, options):
    told = cli("study", "show", tmp_path / "absent.sqlite", *options)
    assert told.exit_code == 2
    assert "has written" in told.stderr
