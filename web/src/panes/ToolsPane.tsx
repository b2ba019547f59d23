/** Every tool call of a run, whoever made it: name, agent, input, outcome, time. Only rows in view are drawn. */
import { useMemo } from "react";
import { api } from "../api/client";
import type { ToolCall } from "../api/types.gen";
import { clock, count, duration } from "../state/format";
import type { Run } from "../state/run";
import { firstLine, peek } from "../state/text";
import { Filter } from "./Filter";
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
  const rows = useMemo(() => chosen(tools.value?.items ?? [], view.words, view.status), [tools.value, view.words, view.status]);
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
    <section className="pane tools-pane" aria-label="tools">
      <Filter shown={rows.length} all={items.length}>
        <span className="depths" role="group" aria-label="outcome">
          {there.map((status) => (
            <button key={status} type="button" aria-pressed={view.status === status} onClick={() => adjust({ status: view.status === status ? "" : status })}>
              {status} {items.filter((tool) => tool.status === status).length}
            </button>
          ))}
        </span>
      </Filter>
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

function chosen(items: ToolCall[], words: string, status: string): ToolCall[] {
  const wanted = words.toLowerCase();
  return items.filter((tool) => (!status || tool.status === status) && (!wanted || `${tool.name ?? ""} ${tool.agent_name ?? ""} ${tool.status} ${peek(tool.args)}`.toLowerCase().includes(wanted)));
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
