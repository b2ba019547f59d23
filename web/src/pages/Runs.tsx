/** Runs, newest first: what agents were asked, how far they are, what it cost. */
import { useEffect, useRef, useState } from "react";
import type { Runs as RunList } from "../api/client";
import { api } from "../api/client";
import { feed } from "../api/live";
import type { Task, Usage } from "../api/types.gen";
import { age, allTokens, count, duration, grouped, money, tokens } from "../state/format";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import { FilterBox } from "../ui/FilterBox";
import { Flags, Progress, Status } from "../ui/Marks";
import { Loading, Trouble } from "../ui/Trouble";
import { asApiError, useNow } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { Link, taskView, useNavigation } from "../ui/navigation";
import type { ApiError } from "../api/client";
import { Start } from "./Start";

const STATUSES = ["working", "completed", "failed", "canceled"];
const PAGE = 100;
const LEAST_PAUSE = 700;
const ASKED_AGAIN = 15_000; // who stands still sends no news
const DAY = 86_400_000; // what was never seen to end is not said to have worked for weeks

export function Runs() {
  const { view, adjust } = useNavigation();
  const list = useRuns(view.status, view.words);
  const [at, move] = useState(-1);
  const { go } = useNavigation();
  useEffect(() => {
    document.title = "Runs – Ramify";
  }, []);
  const items = list.items;
  useKeys({
    next: () => move(Math.min(at + 1, items.length - 1)),
    previous: () => move(Math.max(at - 1, 0)),
    open: () => items[at] && go(taskView(items[at].id)),
  });
  if (list.error && list.error.code !== "bad_filter" && !items.length) return <Trouble error={list.error} again={list.again} />;
  if (!list.loaded) return <Loading rows={8} />;
  const filtered = Boolean(view.status || view.words);
  if (!items.length && !filtered) return <Start />;
  return (
    <section className="list-page" aria-label="runs">
      <h1>Runs</h1>
      <div className="filter">
        <FilterBox list="tasks" label="filter runs" placeholder="words, agent:Explore, tool:Bash, cost>0.5, since:2h   /" value={view.words} change={(words) => adjust({ words })} />
        <span role="group" aria-label="status" className="depths">
          <button type="button" aria-pressed={!view.status} onClick={() => adjust({ status: "" })}>
            all
          </button>
          {STATUSES.map((status) => (
            <button key={status} type="button" aria-pressed={view.status === status} onClick={() => adjust({ status: view.status === status ? "" : status })}>
              {status}
            </button>
          ))}
        </span>
        {filtered && list.error?.code !== "bad_filter" && (
          <span className="faint" role="status">
            {items.length} shown, {list.hidden} hidden{" "}
            <button type="button" className="quiet" onClick={() => adjust({ words: "", status: "" })}>
              show all
            </button>
          </span>
        )}
        {list.fresh > 0 && (
          <button type="button" className="pill" onClick={list.show}>
            {count(list.fresh, "new run")}
          </button>
        )}
      </div>
      {items.length === 0 && !list.error && <p className="empty">Nothing fits. {count(list.hidden, "run")} hidden by the filter.</p>}
      {items.length > 0 && (
        <p className="list-head" aria-hidden="true">
          <span className="n">calls</span>
          <span className="n">tokens</span>
          <span className="n">time</span>
          <span className="n">own</span>
          <span className="n">delegated</span>
          <span className="n">tree</span>
          <span className="when">asked</span>
        </p>
      )}
      <ul className="runs">
        {items.map((task, index) => (
          <RunRow key={task.id} task={task} selected={index === at} />
        ))}
      </ul>
      {list.next && (
        <button type="button" onClick={list.more}>
          Show older ones
        </button>
      )}
    </section>
  );
}

function RunRow({ task, selected }: { task: Task; selected: boolean }) {
  const working = task.status === "working" || (task.progress?.working ?? 0) > 0;
  const now = useNow(true);
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (selected) row.current?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  const since = task.opened ? now - Date.parse(task.opened) : Infinity;
  const took = task.duration_ms ?? (working && since < DAY ? since : null);
  const usage = task.tree_usage;
  const unseen = task.subtasks > 0 && usage.calls === task.usage.calls && usage.cost_usd === task.usage.cost_usd; // of those that it asked, nobody saw a model
  const delegated = unseen || usage.cost_usd === null || task.usage.cost_usd === null ? null : usage.cost_usd - task.usage.cost_usd;
  const agent = task.agent_type ?? task.agent;
  return (
    <li ref={row} className={selected ? "selected" : ""}>
      <Link to={taskView(task.id)}>
        <Status status={task.status} words />
        <span className="title">
          {firstLine(task.title || NO_PROMPT, 160)}
          {agent && <span className="faint agent">{firstLine(agent, 40)}</span>}
        </span>
        <span className="about">
          {task.progress && task.progress.tasks > 0 && <Progress done={task.progress.done} all={task.progress.tasks} failed={task.progress.failed} />}
          <Flags flags={task.flags} />
          <Cell about="model calls of the whole tree" unit={usage.calls === 1 ? "call" : "calls"} value={usage.calls ? grouped(usage.calls) : "—"} />
          <Cell about={`tokens of the whole tree: ${split(usage)}`} unit="tokens" value={usage.calls ? tokens(allTokens(usage)) : "—"} />
          <Cell about="from the prompt to the end" value={duration(took)} />
          <Cell about="own cost" wide value={money(task.usage.cost_usd)} />
          <Cell about="delegated cost" wide value={money(delegated)} />
          <Cell about="cost of the whole tree" faint value={money(usage.cost_usd)} />
          <time dateTime={task.opened ?? undefined}>{age(task.opened, now)}</time>
        </span>
      </Link>
    </li>
  );
}

/** A figure under its heading; where there is no room for headings it says its unit, and what is not known is left out. */
function Cell({ about, unit, value, faint, wide }: { about: string; unit?: string; value: string; faint?: boolean; wide?: boolean }) {
  const kind = ["n", faint && "faint", wide && "wide", value === "—" && "none"].filter(Boolean).join(" ");
  return (
    <span className={kind} title={about} data-unit={unit}>
      {value}
    </span>
  );
}

const split = (usage: Usage): string =>
  `${tokens(usage.input)} new, ${tokens(usage.cache_read)} from the cache, ${tokens(usage.cache_write)} written to it, ${tokens(usage.output)} answered`;

/** The list as the server judges it; asked again when something changed, never more often than it can be answered. */
function useRuns(status: string, words: string) {
  const [state, set] = useState<{ list: RunList | null; key: string; error: ApiError | null; waiting: RunList | null }>({ list: null, key: "", error: null, waiting: null });
  const [limit, grow] = useState(PAGE);
  const [round, next] = useState(0);
  const key = `${status}\n${words}\n${limit}`;
  const working = useRef(false);
  working.current = state.list?.items.some((task) => task.status === "working") ?? false;
  useEffect(() => {
    let current = true;
    let timer: ReturnType<typeof setTimeout> | null = null;
    let pause = LEAST_PAUSE;
    const ask = async () => {
      const began = performance.now();
      try {
        const list = await api.runs({ status, filter: words, limit });
        if (current) set((old) => settle(old, list, key));
      } catch (error) {
        if (current) set((old) => ({ ...old, key, error: asApiError(error) }));
      }
      pause = Math.max(LEAST_PAUSE, 4 * (performance.now() - began));
    };
    feed.start();
    void ask();
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        void ask();
      }, pause);
    };
    const leave = feed.listen({ changed: soon, restart: soon });
    const asking = setInterval(() => working.current && soon(), ASKED_AGAIN);
    return () => {
      current = false;
      leave();
      clearInterval(asking);
      if (timer) clearTimeout(timer);
    };
  }, [key, round]);
  const known = new Set(state.list?.items.map((task) => task.id));
  return {
    items: state.list?.items ?? [],
    hidden: state.list?.hidden ?? 0,
    next: state.list?.next ?? null,
    loaded: state.list !== null || state.error !== null,
    error: state.error,
    fresh: state.waiting?.items.filter((task) => !known.has(task.id)).length ?? 0,
    show: () => {
      set((old) => ({ ...old, list: old.waiting ?? old.list, waiting: null }));
      scrollTo({ top: 0 });
    },
    more: () => grow((old) => old + PAGE),
    again: () => next((old) => old + 1),
  };
}

/** At the top new runs appear; for a reader further down they wait behind a button, and rows only change in place. */
function settle<State extends { list: RunList | null; key: string; error: ApiError | null; waiting: RunList | null }>(old: State, list: RunList, key: string): State {
  const known = new Set(old.list?.items.map((task) => task.id));
  const reading = old.key === key && scrollY > 80 && list.items.some((task) => !known.has(task.id));
  if (!reading || !old.list) return { ...old, list, key, error: null, waiting: null };
  const byId = new Map(list.items.map((task) => [task.id, task]));
  const items = old.list.items.map((task) => byId.get(task.id) ?? task);
  return { ...old, list: { ...old.list, items }, key, error: null, waiting: list };
}
