"""Every coding that a client may ask for is undone for reading; what was cut gives what had come."""

import gzip
import zlib

import brotli
import pytest
import zstandard

from ramify.protocols.wire.coding import decode, encodings_of

TEXT = b'{"content": "words that come again and again"}' * 400
CODED = {
    "gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstandard.ZstdCompressor().compress(TEXT),
}


@pytest.mark.parametrize("coding", CODED)
def test_a_coded_body_is_read(coding: str) -> None:
    assert decode(CODED[coding], [coding]) == TEXT


@pytest.mark.parametrize("coding", CODED)
def test_a_cut_body_gives_a_beginning_or_nothing(coding: str) -> None:
    for length in range(0, len(CODED[coding]), 7):
        found = decode(CODED[coding][:length], [coding])
        assert found is None or TEXT.startswith(found)


def test_codings_are_undone_in_reverse_order() -> None:
    twice = brotli.compress(gzip.compress(TEXT))
    assert decode(twice, encodings_of("gzip, br")) == TEXT
    assert encodings_of(" identity , GZIP") == ["gzip"]


def test_an_unknown_coding_is_not_guessed() -> None:
    assert decode(TEXT, ["compress"]) is None
