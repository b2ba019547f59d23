"""The question for one page of rows, as engines that speak SQL are asked it. Values stand apart, marked by `?`."""

from typing import Any

from ramify.storage.base import Ask
from ramify.storage.sifting import written_out


def page_query(table: str, ask: Ask) -> tuple[str, list[Any]]:
    clauses, parameters = equal(ask.where, ask.without)
    for column, bounds in ask.within.items():
        clauses.append(f'"{column}" BETWEEN ? AND ?')
        parameters += bounds
    direction, compare = ("ASC", ">") if ask.ascending else ("DESC", "<")
    if ask.behind is not None:
        clauses.append(f"({ask.order}, id) {compare} (?, ?)")
        parameters += ask.behind
    where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
    query = f"SELECT doc FROM {table} {where} ORDER BY {ask.order} {direction}, id {direction} LIMIT ?"
    return query, [*parameters, ask.limit]


def count_query(table: str, where: dict[str, str], without: dict[str, str]) -> tuple[str, list[Any]]:
    clauses, parameters = equal(where, without)
    return f"SELECT count(*) FROM {table}" + (f" WHERE {' AND '.join(clauses)}" if clauses else ""), parameters


def openings_query(values: str) -> str:
    """Of conversations: the title of the first prompt, how many tasks there are, and how many of them are roots."""
    return f"""
        SELECT conversation, max(CASE WHEN place = 1 THEN title ELSE '' END), count(*), count(*) FILTER (WHERE kind = 'root') FROM (
            SELECT conversation, kind, CASE WHEN kind = 'root' THEN title ELSE '' END AS title,
                CASE WHEN kind = 'root' THEN row_number() OVER (PARTITION BY conversation, kind ORDER BY opened, id) ELSE 0 END AS place
            FROM tasks WHERE conversation {values}
        ) AS found GROUP BY conversation
    """


def equal(where: dict[str, str], without: dict[str, str]) -> tuple[list[str], list[Any]]:
    clauses, rest = written_out(where)
    clauses += [*(f'"{column}" = ?' for column in rest), *(f'"{column}" <> ?' for column in without)]
    return clauses, [*rest.values(), *without.values()]
