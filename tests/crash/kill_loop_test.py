"""A writer process killed with SIGKILL at random moments on real files (kill_loop.py)."""

import random

from kill_loop import Loop

KILLS = 25


def test_acknowledged_rows_survive_kills_and_the_peer_reads_them(tmp_path):
    loop = Loop(tmp_path, seed=random.SystemRandom().getrandbits(32))
    loop.create()
    for _ in range(KILLS):
        loop.kill_once()
        report = loop.check()
        assert not report["violations"], f"seed {loop.seed}, after {loop.kills} kills: {report['violations']}"
    assert report["acknowledged"] >= 2 * KILLS, f"the loop hardly wrote anything: {report}"
    expected = loop.rows()
    assert expected and len(expected) == report["rows"]
    assert loop.rows_of_the_released_peer() == expected


def test_without_durability_the_same_check_sees_losses(tmp_path):
    """The control: the journal claims durability, but the writer runs without it. A check that finds nothing here would
    find nothing anywhere."""
    loop = Loop(tmp_path, seed=7, durability="pretended")
    loop.create()
    losses = []
    for _ in range(10):
        loop.kill_once()
        losses += loop.check()["violations"]
        if losses:
            break
    assert any("acknowledged as durable, but is not in the log" in loss for loss in losses), losses
