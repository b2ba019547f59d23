/** What happened, in the order in which one reads it. People stand on the right; agents and tools on the left. */
import { useEffect, useMemo, useState } from "react";
import type { Task } from "../api/types.gen";
import { clock, count, duration, grouped, money } from "../state/format";
import type { Run } from "../state/run";
import { Telling } from "../state/telling";
import { lasted } from "../state/tree";
import { NO_PROMPT, WAITING, roleWords } from "../state/sources";
import { firstLine, peek } from "../state/text";
import type { Item, ToolUse } from "../state/transcript";
import { REPEATED, toolSummary } from "../state/transcript";
import { toggle } from "../state/view";
import { source } from "../api/source";
import { Asking } from "./Asking";
import { KeptTurn } from "./KeptTurns";
import { CertaintyMark, Flags, Status } from "../ui/Marks";
import { Value, Words } from "../ui/Payload";
import { Sides } from "../ui/Sides";
import { LongText } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useNow, useStore } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { Link, taskView, useNavigation } from "../ui/navigation";

const DEEPEST = 3;
const PROMPTS = 60; // at once: each asks the server for what was said in it

export function Transcript({ run }: { run: Run }) {
  useStore(run);
  const { view, adjust } = useNavigation();
  const step = (by: 1 | -1) => {
    const marked = [...document.querySelectorAll<HTMLElement>("[data-selects]")];
    const at = marked.findIndex((element) => element.dataset.selects === view.selected);
    const next = marked[at < 0 ? 0 : at + by];
    if (!next) return;
    adjust({ selected: next.dataset.selects ?? null });
    next.scrollIntoView({ block: "nearest" });
  };
  useKeys({ people: () => adjust({ onlyPeople: !view.onlyPeople }), next: () => step(1), previous: () => step(-1) });
  const roots = run.tree?.roots ?? [];
  const loose = run.tree?.unattached ?? [];
  const [begun, begin] = useState({ run: "", at: 0 });
  const from = source.saved ? 0 : begun.run === run.id ? begun.at : Math.max(0, roots.length - PROMPTS);
  useEffect(() => {
    if (roots.length && begun.run !== run.id) begin({ run: run.id, at: from }); // what comes later pushes nothing out
  });
  return (
    <section className="pane transcript-pane" aria-label="transcript">
      <div className="filter">
        <label className="switch">
          <input type="checkbox" checked={view.onlyPeople} onChange={() => adjust({ onlyPeople: !view.onlyPeople })} /> only what a person wrote
        </label>
        <button type="button" className="quiet" onClick={() => print()}>
          print
        </button>
      </div>
      <div className="reading" tabIndex={0}>
        {from > 0 && (
          <button type="button" onClick={() => begin({ run: run.id, at: Math.max(0, from - PROMPTS) })}>
            Show {count(Math.min(from, PROMPTS), "earlier prompt")}
            {from > PROMPTS && ` of ${grouped(from)}`}
          </button>
        )}
        {roots.slice(from).map((root) => (
          <Told key={root.id} id={root.id} run={run} depth={0} />
        ))}
        {loose.length > 0 && <h3 className="divider">Unattached: {count(loose.length, "task")} that nothing leads to</h3>}
        {loose.map((node) => (
          <Told key={node.id} id={node.id} run={run} depth={0} />
        ))}
      </div>
    </section>
  );
}

const byPerson = (item: Item): boolean => (item.kind === "said" && item.author === "human") || (item.kind === "spoken" && item.side === "human");

function Told({ id, run, depth }: { id: string; run: Run; depth: number }) {
  const telling = useMemo(() => new Telling(id), [id]);
  useStore(telling);
  const { view } = useNavigation();
  useEffect(() => {
    void telling.load();
    return run.hear(telling.hear);
  }, [telling, run]);
  if (telling.error) return <Trouble error={telling.error} again={() => void telling.load()} />;
  if (!telling.loaded && !telling.items.length) return <Loading />;
  const question = telling.question();
  const shown = view.onlyPeople ? telling.items.filter(byPerson) : telling.items;
  return (
    <div className={`told depth-${Math.min(depth, DEEPEST)}`}>
      {telling.task && !telling.task.prompt && !telling.items.some((item) => item.kind === "step") && !view.onlyPeople && <p className="turn faint">Its prompt was not seen: no source showed it.</p>}
      {shown.map((item) => (
        <Turn key={item.key} item={item} telling={telling} run={run} depth={depth} />
      ))}
      {!source.saved && telling.task && question && !view.onlyPeople && <Asking key={telling.task.status} task={telling.task} question={question} />}
      {telling.task?.status === "working" && <p className="working-line">{telling.task.native_status === WAITING ? `${WAITING}…` : "working…"}</p>}
    </div>
  );
}

interface TurnProperties {
  item: Item;
  telling: Telling;
  run: Run;
  depth: number;
}

function Turn({ item, telling, run, depth }: TurnProperties) {
  const { adjust, view } = useNavigation();
  const select = (selected: string) => adjust({ selected, pane: view.pane });
  switch (item.kind) {
    case "said":
      return <Said item={item} />;
    case "prompt":
      return <AgentPrompt item={item} task={telling.task} />;
    case "harness":
      return <Harness item={item} />;
    case "thinking":
      return <Thinking item={item} select={() => item.call && select(`call:${item.call}`)} />;
    case "words":
      return (
        <article className="turn agent" aria-label="the agent said">
          <Words text={item.text} lines={60} />
        </article>
      );
    case "tools":
      return <ToolGroup item={item} select={select} selected={view.selected} />;
    case "spawn":
      return <Card tool={item.tool} child={telling.children.find((child) => child.id === item.tool.child)} run={run} depth={depth} select={select} />;
    case "trouble":
      return <CallTrouble item={item} select={() => select(`call:${item.call.id}`)} />;
    default:
      return <KeptTurn item={item} task={telling.task} />;
  }
}

function Said({ item }: { item: Item & { kind: "said" } }) {
  const { message } = item;
  return (
    <article className={`turn ${item.author}`} aria-label={`${item.author} said`}>
      <header>
        <span className="author" title={message.reason ?? ""}>
          {item.author === "human" ? "a person" : item.author}
        </span>
        {(message.role !== "user" || message.source) && <span className="wire">{roleWords(message)}</span>}
        <time>{clock(message.timestamp)}</time>
      </header>
      <Words text={item.text} lines={40} />
      {item.pictures.map((picture, at) => (
        <img key={at} className="captured" alt="picture that was sent" src={`data:${picture.type};base64,${picture.data}`} />
      ))}
    </article>
  );
}

/** The prompt that an agent wrote: never shown as a person's words, whatever its role on the wire. */
function AgentPrompt({ item, task }: { item: Item & { kind: "prompt" }; task: Task | null }) {
  return (
    <article className="turn prompt" aria-label="prompt written by an agent">
      <header>
        <span className="author agent-author" title={item.message.reason ?? ""}>
          an agent asked
        </span>
        {task?.link && <Link to={taskView(task.link.parent)}>the task that asked</Link>}
        <span className="wire">{roleWords(item.message)}</span>
        <time>{clock(item.message.timestamp)}</time>
      </header>
      <Words text={item.text} lines={30} />
    </article>
  );
}

function Harness({ item }: { item: Item & { kind: "harness" } }) {
  return (
    <details className="turn harness">
      <summary>
        <span className="chip">{item.message.author_kind ?? "harness"}</span> {firstLine(item.text.replace(/<[^>]+>/g, " ").trim(), 90)}
        {item.message.source && <span className="wire">{roleWords(item.message)}</span>}
      </summary>
      <LongText text={item.text} code />
    </details>
  );
}

function Thinking({ item, select }: { item: Item & { kind: "thinking" }; select: () => void }) {
  return (
    <article className="turn thinking" aria-label="reasoning" onDoubleClick={select}>
      {item.withheld ? <p className="faint">Reasoned; the provider withheld the text.</p> : <LongText text={item.text} lines={8} />}
    </article>
  );
}

interface ToolsProperties {
  item: Item & { kind: "tools" };
  select: (selected: string) => void;
  selected: string | null;
}

function ToolGroup({ item, select, selected }: ToolsProperties) {
  const { view, adjust } = useNavigation();
  const many = item.tools.length > 4;
  const id = item.tools[0]?.id ?? "";
  const open = !many || view.toggled.includes(id);
  return (
    <div className="turn tools">
      {(many || item.loops >= REPEATED) && (
        <header>
          {many && (
            <button type="button" className="quiet" aria-expanded={open} onClick={() => adjust({ toggled: toggle(view.toggled, id) })}>
              {open ? "▾" : "▸"} {count(item.tools.length, "tool call")}: {toolSummary(item.tools)}
            </button>
          )}
          {item.loops >= REPEATED && <span className="chip">the same call {item.loops} times</span>}
        </header>
      )}
      {open && item.tools.map((tool) => <Tool key={tool.id} tool={tool} select={select} selected={selected === `tool:${tool.id}`} />)}
    </div>
  );
}

function Tool({ tool, select, selected }: { tool: ToolUse; select: (selected: string) => void; selected: boolean }) {
  const [open, set] = useState(false);
  return (
    <div className={`tool${selected ? " selected" : ""}`} data-selects={`tool:${tool.id}`}>
      <div className="tool-line">
        <button type="button" className="tool-name" aria-expanded={open} onClick={() => set(!open)}>
          <Status status={tool.status} /> <b>{firstLine(tool.name, 60)}</b> <span className="peek">{peek(tool.input)}</span>
        </button>
        <button type="button" className="quiet" onClick={() => select(`tool:${tool.id}`)}>
          details
        </button>
      </div>
      {open && (
        <Sides
          left={{ title: "input", body: <Value value={tool.input} label="input" /> }}
          right={{
            title: "result",
            body: tool.result === null ? <p className="faint">{tool.status === "running" ? "not seen yet" : "empty"}</p> : <Value value={tool.result} label="result" />,
          }}
        />
      )}
    </div>
  );
}

interface CardProperties {
  tool: ToolUse;
  child: Task | undefined;
  run: Run;
  depth: number;
  select: (selected: string) => void;
}

/** A sub-task at the call that started it; what it did can be read in place, or on a page of its own. */
function Card({ tool, child, run, depth, select }: CardProperties) {
  const { view, adjust } = useNavigation();
  const id = tool.child ?? "";
  const node = run.tree?.nodes.get(id);
  const open = view.toggled.includes(id) && depth < DEEPEST;
  const status = node?.status ?? child?.status ?? "unknown";
  const now = useNow(status === "working");
  const took = node ? lasted(node, now) : null;
  const asked = (tool.input as { prompt?: string } | null)?.prompt ?? child?.prompt ?? "";
  return (
    <article className={`turn card${view.selected === `task:${id}` ? " selected" : ""}`} data-selects={`task:${id}`} aria-label={`sub-task ${child?.title ?? ""}`}>
      <header onClick={() => select(`task:${id}`)}>
        <Status status={status} />
        <span className="to">
          {firstLine(tool.name || "inside", 30)} → <b>{firstLine(child?.agent_type || node?.agent || (child?.agent === null && status === "unknown" ? "no agent known" : "agent"), 40)}</b>
        </span>
        <span className="title">{firstLine(child?.title || node?.title || NO_PROMPT, 90)}</span>
        <CertaintyMark certainty={child?.link?.certainty ?? null} rule={child?.link?.rule} />
        <Flags flags={child?.flags ?? []} />
        <Link className="button" to={taskView(id)} title="open in a tab of its own">
          open
        </Link>
      </header>
      {asked && (
        <p className="asked">
          <span className="author agent-author">written by the agent</span> {firstLine(asked, 240)}
        </p>
      )}
      <footer>
        {node && (
          <span>
            {[
              ...(node.tools || node.calls ? [count(node.tools, "tool")] : []),
              ...(took === null ? [] : [duration(took)]),
              ...(node.sums.calls ? [money(node.sums.cost)] : []),
              ...(node.sums.tasks > 1 ? [count(node.sums.tasks - 1, "sub-task")] : []),
            ].join(" · ")}
          </span>
        )}
        <button type="button" className="quiet" aria-expanded={open} disabled={depth >= DEEPEST} onClick={() => adjust({ toggled: toggle(view.toggled, id) })}>
          {depth >= DEEPEST ? "deeper: open it" : open ? "▾ fold" : "▸ read here"}
        </button>
      </footer>
      {open && <Told id={id} run={run} depth={depth + 1} />}
      {!open && tool.result !== null && <Outcome result={tool.result} />}
    </article>
  );
}

function Outcome({ result }: { result: unknown }) {
  const block = Array.isArray(result) ? (result[0] as { text?: string } | undefined)?.text : result;
  return typeof block === "string" ? <p className="outcome">⤷ {firstLine(block.replace(/^\[.*?\].*\n\s*/, ""), 160)}</p> : null;
}

function CallTrouble({ item, select }: { item: Item & { kind: "trouble" }; select: () => void }) {
  const { call, retries } = item;
  const words = call.status === "error" ? `the API refused: ${call.http_status ?? ""} ${call.error ?? ""}` : call.status === "aborted" ? "the answer was cut short" : "";
  return (
    <p className={`turn trouble-line ${call.status}`}>
      {words} {retries > 0 && `· ${count(retries, "further attempt")}`}
      <button type="button" className="quiet" onClick={select}>
        details
      </button>
    </p>
  );
}
