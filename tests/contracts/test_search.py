"""Words are cut in one place, so that every engine finds the same texts by the same question."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.query.lists import quoted
from ramify.storage.base import Store, Words
from ramify.storage.sqlite import open_sqlite
from ramify.storage.wording import plain, sought
from tests.contracts.engines import ENGINES, to_be_had

LONG = "w" * 3000
COMMON = "one two " * 400
TEXTS = {
    "plain": "A report about the garden, naïve and long",
    "error": "the report ended with an error",
    "both": "error: no report; error again",
    "path": f"{COMMON} see src/main.py and then one garden",
    "far": f"{' '.join(f'n{number}' for number in range(20_000))} far away",
    "giant": f"before {LONG} after",
    "other giant": f"{'w' * 2999}v",
    "marks": "ёлка Ελλάδα Việt ŞİŞLİ Straße ﬁne µ",
    "cjk": "ありがとう ガラス 日本語 한국어",
    "signs": "x² ½ ① 3 1e5 a_b NOT 😀ok",
}


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = ENGINES[to_be_had(request.param)].open(tmp_path)
    opened.search.add([Words(name, "request", 0, 0, "text", text) for name, text in TEXTS.items()], 0, 1)
    yield opened
    opened.close()


def found(store: Store, query: str) -> set[str]:
    return {words.call for _, words in store.search.find(query, 100, None)}


def test_what_is_denied_is_not_found(store: Store) -> None:
    assert found(store, '"report"') == {"plain", "error", "both"}
    assert found(store, '"report" NOT "error"') == {"plain"}
    assert found(store, '"report" NOT "the garden" NOT "error again"') == {"error"}
    assert found(store, '"report" "error" NOT "an error"') == {"both"}
    assert found(store, '"report" NOT "…"') == {"plain", "error", "both"}
    assert found(store, 'NOT "report"') == found(store, '"…"') == found(store, "") == set()


def test_words_in_a_row_are_found_however_long_the_text_and_however_often_they_stand_in_it(store: Store) -> None:
    assert found(store, quoted("src/main.py")) == {"path"}
    assert found(store, quoted("then one garden")) == {"path"}
    assert found(store, quoted("n19999 far away")) == {"far"}
    assert found(store, quoted("away far")) == set()


def test_a_word_of_any_length_is_found_as_a_whole(store: Store) -> None:
    assert found(store, quoted(LONG)) == {"giant"}
    assert found(store, quoted(f"{LONG} after")) == {"giant"}
    assert found(store, quoted("before after")) == set()
    assert found(store, f'{quoted("before")} NOT {quoted(LONG)}') == set()


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        ("NAIVE", {"plain"}), ("ЁЛКА", {"marks"}), ("ελλαδα", {"marks"}), ("viet", {"marks"}), ("şişli", {"marks"}), ("STRASSE", {"marks"}),
        ("fine", {"marks"}), ("μ", {"marks"}), ("ありがとう", {"cjk"}), ("ありか", set()), ("がとう", set()), ("ガラス", {"cjk"}), ("日本語", {"cjk"}),
        ("日本", set()), ("한국어", {"cjk"}), ("x²", {"signs"}), ("x", set()), ("½", {"signs"}), ("①", {"signs"}), ("1E5", {"signs"}), ("b", {"signs"}),
        ("not", {"signs"}), ("ok", {"signs"}), ("ok\0", {"signs"}), ("\ud800ok", {"signs"}),
    ],
)  # fmt: skip
def test_words_of_any_script_are_found_without_case_and_marks(store: Store, word: str, texts: set[str]) -> None:
    assert found(store, quoted(word)) == texts


def test_the_longest_text_of_any_letters_is_indexed(store: Store) -> None:
    """Of syllables of which each is a word: taken apart they would be more than PostgreSQL holds."""
    syllables = " ".join(chr(0xAC00 + at % 11_000) * (3 + at // 11_000) for at in range(40_000))[:200_000]
    assert store.search.add([Words("korean", "request", 0, 0, "text", syllables)], 1, 2)
    assert found(store, quoted(chr(0xAC00 + 7) * 4)) == {"korean"}


def test_words_are_cut_alike_in_texts_and_in_questions() -> None:
    assert plain("Foo_bar-BAZ  3.5") == "foo bar baz 3 5"
    assert plain("が") == plain("が") == "が"
    assert sought('"Foo, bar" NOT "baz" "_"').wanted == ["foo bar"]
    assert sought('"Foo, bar" NOT "baz" NOT "_"').unwanted == ["baz"]


def test_an_index_in_which_the_engine_cut_the_words_is_made_anew(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    connection = store.search._connection
    connection.executescript("DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61')")
    store.search.add([Words("old", "request", 0, 0, "text", "a report")], 0, 5)
    store.close()
    again = open_sqlite(f"sqlite:{tmp_path}/store.db")
    assert again.search.indexed() == 0
    assert found(again, '"report"') == set()
    again.search.add([Words("new", "request", 0, 0, "text", "ありがとう")], 0, 5)
    assert found(again, '"ありがとう"') == {"new"}
    again.close()


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_plain_letters_are_cut_by_the_embedded_index_as_by_us(text: str) -> None:
    found = []
    for form in (text, plain(text)):
        with closing(sqlite3.connect(":memory:")) as index:
            index.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='ascii')")
            index.execute("CREATE VIRTUAL TABLE held USING fts5vocab(words, 'instance')")
            index.execute("INSERT INTO words (rowid, text) VALUES (1, ?)", (form,))
            found.append(index.execute('SELECT term, "offset" FROM held ORDER BY 2').fetchall())
    assert found[0] == found[1]
