/** Conversations, newest first. */
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { feed } from "../api/live";
import { age, allTokens, count, grouped, money, tokens } from "../state/format";
import { firstLine } from "../state/text";
import { FilterBox } from "../ui/FilterBox";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useNow } from "../ui/hooks";
import { Link, conversationView, useNavigation } from "../ui/navigation";

const PAGE = 300;

export function Conversations() {
  const { view, adjust } = useNavigation();
  const [limit, grow] = useState(PAGE);
  const wanted = view.words.trim();
  const list = useAnswer(() => api.conversations({ limit, filter: wanted }), `${limit} ${wanted}`);
  const last = useRef(list.value);
  last.current = list.value ?? last.current; // what stood there stays until the next answer comes
  const now = useNow(true);
  useEffect(() => {
    document.title = "Conversations – Ramify";
    feed.start();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        list.again();
      }, 1500);
    };
    return feed.listen({ changed: soon, restart: soon });
  }, []);
  if (list.error && list.error.code !== "bad_filter") return <Trouble error={list.error} again={list.again} />;
  if (!last.current && !list.error) return <Loading rows={8} />;
  const { items, next } = last.current ?? { items: [], next: null };
  return (
    <section className="list-page" aria-label="conversations">
      <h1>Conversations</h1>
      <div className="filter">
        <FilterBox list="conversations" label="filter conversations" placeholder="words, agent:Explore, client:claude-cli*, since:7d   /" value={view.words} change={(words) => adjust({ words })} />
        {wanted && !list.error && (
          <span className="faint" role="status">
            {grouped(items.length)}
            {next ? " or more fit" : items.length === 1 ? " fits" : " fit"}{" "}
            <button type="button" className="quiet" onClick={() => adjust({ words: "" })}>
              show all
            </button>
          </span>
        )}
      </div>
      {items.length === 0 && !list.error && <p className="empty">{wanted ? "Nothing fits." : "No conversation was seen yet."}</p>}
      <ul className="runs">
        {items.map((one) => (
          <li key={one.id}>
            <Link to={conversationView(one.id)}>
              <span className="title">{firstLine(one.title, 140) || one.id}</span>
              <span className="about">
                <span>{count(one.roots, "prompt")}</span>
                <span>{count(one.subtasks, "sub-task")}</span>
                {one.branches.length > 1 && <span title={one.branches.join(", ")}>{count(one.branches.length, "branch", "branches")}</span>}
                <span>{count(one.calls, "call")}</span>
                <span>{one.calls ? `${tokens(allTokens(one.usage))} tokens` : "—"}</span>
                <span>{money(one.usage.cost_usd)}</span>
                {one.client && <span className="faint">{firstLine(one.client, 24)}</span>}
                <time dateTime={one.active ?? undefined}>{age(one.active, now)}</time>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {next && (
        <button type="button" onClick={() => grow((old) => old + PAGE)}>
          Show older ones
        </button>
      )}
    </section>
  );
}
