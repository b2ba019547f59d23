/** Every tool call of a run, whoever made it: name, agent, input, outcome, time. Only rows in view are drawn. */
import { useMemo, useRef } from "react";
import { api } from "../api/client";
import type { ToolCall } from "../api/types.gen";
import { clock, count, duration, grouped, timeWidth } from "../state/format";
import type { Run } from "../state/run";
import { firstLine, peek } from "../state/text";
import { FilterBox } from "../ui/FilterBox";
import { Status } from "../ui/Marks";
import { Loading, Trouble } from "../ui/Trouble";
import { Virtual, rowId } from "../ui/Virtual";
import { useAnswer } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { useNavigation } from "../ui/navigation";

const MOST = 20_000;
const ROW = 30;
const STATUSES = ["running", "ok", "error", "canceled", "timed_out", "missing"];

export function ToolsPane({ run }: { run: Run }) {
  const { view, adjust } = useNavigation();
  const tools = useAnswer(() => api.tools(run.id, true, MOST, true), run.id, run.version());
  const wanted = view.words.trim();
  const fitting = useAnswer(wanted ? () => api.tools(run.id, true, MOST, true, wanted) : null, `${run.id} ${wanted}`, run.version());
  const all = (wanted ? fitting.value : tools.value)?.items;
  const last = useRef(all);
  last.current = all ?? last.current; // what stood there stays until the next answer comes
  const rows = useMemo(() => (last.current ?? []).filter((tool) => !view.status || tool.status === view.status), [last.current, view.status]);
  const active = rows.find((tool) => view.selected === `tool:${tool.id}` || view.selected === `tool:${tool.call_id}`)?.id ?? null;
  const step = (by: 1 | -1) => {
    const at = rows.findIndex((tool) => tool.id === active);
    const next = rows[at < 0 ? 0 : at + by];
    if (next) adjust({ selected: `tool:${next.id}` });
  };
  useKeys({ next: () => step(1), previous: () => step(-1) });
  if (tools.error && !tools.value) return <Trouble error={tools.error} again={tools.again} />;
  if (!tools.value) return <Loading rows={8} />;
  const { items } = tools.value;
  const there = STATUSES.filter((status) => items.some((tool) => tool.status === status));
  return (
    <section className="pane tools-pane" aria-label="tools" style={{ "--time": timeWidth(items[0]?.timestamp) } as React.CSSProperties}>
      <div className="filter">
        <FilterBox list="tools" label="filter tool calls" placeholder="words, tool:get_*, status:error, duration>5s   /" value={view.words} change={(words) => adjust({ words })} />
        {wanted && !fitting.error && (
          <span className="faint" role="status">
            {grouped(rows.length)} of {grouped(items.length)} shown{" "}
            <button type="button" className="quiet" onClick={() => adjust({ words: "" })}>
              show all
            </button>
          </span>
        )}
        <span className="depths" role="group" aria-label="outcome">
          {there.map((status) => (
            <button key={status} type="button" aria-pressed={view.status === status} onClick={() => adjust({ status: view.status === status ? "" : status })}>
              {status} {items.filter((tool) => tool.status === status).length}
            </button>
          ))}
        </span>
      </div>
      {tools.value.next && <p className="note">The first {count(MOST, "tool call")}.</p>}
      {items.length === 0 && <p className="empty">No tool call was seen in this run.</p>}
      {items.length > 0 && (
        <Virtual
          label={count(rows.length, "tool call")}
          role="grid"
          ids={rows.map((tool) => tool.id)}
          height={ROW}
          active={active}
          draw={(index) => {
            const tool = rows[index];
            return tool ? <OneRow key={tool.id} tool={tool} at={index} selected={tool.id === active} select={() => adjust({ selected: `tool:${tool.id}` })} agent={run.tree?.nodes.get(tool.task ?? "")?.agent ?? ""} /> : null;
          }}
        />
      )}
    </section>
  );
}

interface RowProperties {
  tool: ToolCall;
  at: number;
  selected: boolean;
  select: () => void;
  agent: string;
}

function OneRow({ tool, at, selected, select, agent }: RowProperties) {
  return (
    <div id={rowId(tool.id)} className={`tool-row${selected ? " selected" : ""}`} role="row" aria-rowindex={at + 1} aria-selected={selected} style={{ height: ROW }} onClick={select}>
      <span role="gridcell" className="faint">
        {clock(tool.timestamp)}
      </span>
      <span role="gridcell">
        <Status status={tool.status} /> <b>{firstLine(tool.name ?? "tool", 40)}</b>
      </span>
      <span role="gridcell">{firstLine(tool.agent_name || agent, 30)}</span>
      <span role="gridcell" className="peek">
        {peek(tool.args)}
      </span>
      <span role="gridcell" className="faint">
        {tool.spawned.length > 0 ? `started ${count(tool.spawned.length, "task")}` : ""}
      </span>
      <span role="gridcell" className="figure">
        {duration(tool.duration_ms)}
      </span>
    </div>
  );
}
