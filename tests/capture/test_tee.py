"""What one exchange leaves behind."""

from hypothesis import given
from hypothesis import strategies as some

from ramify.capture.tee import Kept, texts

field = some.binary(max_size=12).filter(lambda raw: not set(raw) & set(b"\r\n"))


@given(some.lists(some.tuples(field, field)).map(tuple))
def test_any_headers_become_texts_of_the_same_number(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    decoded = texts(headers)
    assert len(decoded) == len(headers)
    for pair, seen in zip(headers, decoded, strict=True):
        assert all(
            raw in (word.encode(), word.encode("latin-1", "ignore"))
            for raw, word in zip(pair, seen, strict=True)
        )


def test_a_field_that_is_not_utf_8_leaves_the_others_as_they_are() -> None:
    headers = ((b"X-Name", "Zoë".encode()), (b"X-Old", "Zoë".encode("latin-1")))
    assert texts(headers) == (("X-Name", "Zoë"), ("X-Old", "Zoë"))


@given(some.lists(some.binary(max_size=20)), some.integers(0, 60))
def test_of_a_body_its_first_part_is_kept_and_the_rest_is_counted(pieces: list[bytes], limit: int) -> None:
    kept = Kept(limit)
    for piece in pieces:
        kept.add(piece)
    whole = b"".join(pieces)
    assert kept.size == len(whole)
    note = kept.shortfall("request")
    assert kept.take() == whole[:limit]
    assert note == (
        f"only the first {limit} of {len(whole)} bytes of the request were kept" if len(whole) > limit else ""
    )
