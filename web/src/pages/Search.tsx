/** Full text over everything that was said, thought, given and returned. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Hit } from "../api/types.gen";
import { clock, count } from "../state/format";
import { plainWords } from "../state/filter";
import { visible } from "../state/text";
import type { View } from "../state/view";
import { FilterBox } from "../ui/FilterBox";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, fresh, useNavigation } from "../ui/navigation";

const WORDS: Record<string, string> = { text: "said", thinking: "thought", input: "given to a tool", result: "returned by a tool" };

export function Search() {
  const { view, adjust } = useNavigation();
  const [typed, type] = useState(view.words);
  useEffect(() => {
    document.title = "Search – Ramify";
  }, []);
  useEffect(() => type(view.words), [view.words]);
  const wanted = view.words.trim();
  const found = useAnswer(wanted ? () => api.search(wanted) : null, wanted);
  return (
    <section className="list-page" aria-label="search">
      <h1>Search</h1>
      <form
        className="filter"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          adjust({ words: typed });
        }}
      >
        <FilterBox list="search" label="words to look for" focused placeholder='words, "a phrase", agent:HR*, since:7d' value={typed} change={type} enter={() => adjust({ words: typed })} />
        <button type="submit">Search</button>
      </form>
      {found.error && found.error.code !== "bad_filter" && <Trouble error={found.error} again={found.again} />}
      {found.loading && <Loading />}
      {found.value && (
        <>
          <p className="faint" role="status">
            {found.value.next ? "the newest 100 hits" : count(found.value.items.length, "hit")}
            {found.value.indexed < found.value.seq && (found.value.indexing ? "; the newest traffic is still being indexed" : "; the store is encrypted, and what came since is not indexed")}
          </p>
          <ul className="hits">
            {found.value.items.map((hit, at) => (
              <li key={at}>
                <Link to={placeOf(hit)}>
                  <span className="chip">{WORDS[hit.kind] ?? hit.kind.replaceAll("_", " ")}</span>
                  <span className="snippet">
                    <Marked text={visible(hit.snippet)} words={wanted} />
                  </span>
                  <time>{clock(hit.timestamp)}</time>
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** A mesh's words and tool calls belong to no model call. */
function placeOf(hit: Hit): View {
  const selected = hit.call ? `call:${hit.call}` : hit.side === "tool" ? `tool:${hit.message}` : null;
  return hit.task ? fresh({ page: "task", id: hit.task, selected }) : fresh({ page: "calls", selected });
}

function Marked({ text, words }: { text: string; words: string }) {
  const terms = plainWords(words).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!terms.length) return <>{text}</>;
  const parts = text.split(new RegExp(`(${terms.join("|")})`, "gi"));
  return <>{parts.map((part, at) => (at % 2 ? <mark key={at}>{part}</mark> : part))}</>;
}
