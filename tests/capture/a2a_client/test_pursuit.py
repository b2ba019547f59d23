"""What is done next about a task that is followed."""

from hypothesis import given
from hypothesis import strategies as st

from ramify.capture.a2a_client.heard import is_over
from ramify.capture.a2a_client.pursuit import LONGEST_PAUSE, Pursuit, Step


def pursued(*states: str, watches: bool = True) -> Pursuit:
    pursuit = Pursuit(watches)
    for state in states:
        pursuit.move(state)
    return pursuit


def test_a_task_that_works_is_watched_where_that_is_harmless_and_else_read_again() -> None:
    assert pursued("working").next() == Step("watch", 0.0)
    assert pursued("working", watches=False).next() == Step("read", 0.2)


def test_reading_slows_down_while_nothing_changes_and_is_quick_again_when_something_does() -> None:
    pursuit = pursued("working", watches=False)
    pauses = []
    for _ in range(10):
        pursuit.read(changed=False)
        pauses.append(pursuit.next().after)
    assert pauses == sorted(pauses)
    assert pauses[-1] == 2.0
    assert not pursuit.stalled  # it is only slow
    pursuit.read(changed=True)
    assert pursuit.next() == Step("read", 0.2)


def test_a_task_that_ended_on_its_stream_is_read_once_more_and_then_done() -> None:
    pursuit = pursued("working")
    pursuit.move("completed")
    pursuit.watched(changed=True)
    assert pursuit.next() == Step("read", 0.0)
    pursuit.read(changed=False)
    assert pursuit.next() == Step("done")


def test_a_task_that_is_over_when_it_is_read_needs_no_second_look() -> None:
    pursuit = pursued("failed")
    pursuit.read(changed=True)
    assert pursuit.next() == Step("done")


def test_an_end_is_never_left_again() -> None:
    assert pursued("completed", "working").state == "completed"


def test_an_agent_that_is_gone_when_a_task_has_ended_is_asked_three_times() -> None:
    pursuit = pursued("completed")
    steps = []
    while (step := pursuit.next()).act != "done":
        steps.append(step)
        pursuit.failed()
    assert steps == [Step("read", 0.0), Step("read", 0.5), Step("read", 1.0)]


def test_an_error_instead_of_a_stream_leads_to_a_look_at_once() -> None:
    pursuit = pursued("working")
    pursuit.refused()
    assert pursuit.next() == Step("read", 0.0)
    pursuit.move("completed")
    pursuit.read(changed=True)
    assert pursuit.next() == Step("done")


def test_streams_that_end_in_vain_are_tried_again_with_growing_pauses_and_count_as_stalled_after_three() -> None:
    pursuit = pursued("working")
    pauses = []
    for _ in range(9):
        assert pursuit.next().act == "watch"
        pauses.append(pursuit.next().after)
        pursuit.watched(changed=False)
        assert pursuit.next() == Step("read", 0.0)
        pursuit.read(changed=False)
    assert pauses == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert pursuit.stalled
    pursuit.attached()
    assert not pursuit.stalled


def test_a_task_that_waits_keeps_its_subscription_where_the_agent_holds_one_and_is_read_where_not() -> None:
    pursuit = pursued("working", "input-required")
    pursuit.watched(changed=True)  # the sender's stream ends with the question
    assert pursuit.next() == Step("watch", 0.0)
    pursuit.refused()
    assert pursuit.next() == Step("read", 0.2)
    assert not pursuit.stalled
    pursuit.move("working")  # somebody has answered
    assert pursuit.next() == Step("watch", 0.0)


def test_a_broken_stream_of_an_agent_that_is_only_read_is_stalled_after_three_looks_that_say_the_same() -> None:
    pursuit = pursued("working", watches=False)
    pursuit.watched(changed=True)
    for _ in range(3):
        assert not pursuit.stalled
        pursuit.read(changed=False)
    assert pursuit.stalled
    pursuit.read(changed=True)
    assert not pursuit.stalled


@given(st.booleans(), st.lists(st.sampled_from(["working", "input-required", "completed", "quiet", "news", "cut", "refused", "failed"])))
def test_there_is_always_a_next_step_within_reason(watches: bool, happenings: list[str]) -> None:
    pursuit = Pursuit(watches)
    for happening in happenings:
        match happening:
            case "quiet" | "news":
                pursuit.read(happening == "news")
            case "cut":
                pursuit.watched(False)
            case "refused":
                pursuit.refused()
            case "failed":
                pursuit.failed()
            case state:
                pursuit.move(state)
        step = pursuit.next()
        assert 0.0 <= step.after <= LONGEST_PAUSE
        assert step.act != "watch" or watches
        assert step.act != "done" or is_over(pursuit.state)
