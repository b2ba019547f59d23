/** One task: prompt and who wrote it, figures, ids. */
import { api } from "../api/client";
import type { Ref, Usage } from "../api/types.gen";
import { clock, duration, money, tokens } from "../state/format";
import { NO_PROMPT, WAITING } from "../state/sources";
import { firstLine } from "../state/text";
import { CertaintyMark, Flags, Status } from "../ui/Marks";
import { Copy, LongText } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, conversationView, taskView, useNavigation } from "../ui/navigation";

export function TaskDetails({ id }: { id: string }) {
  const { value: task, error, again } = useAnswer(() => api.task(id), id);
  const { go } = useNavigation();
  if (error) return <Trouble error={error} again={again} />;
  if (!task) return <Loading />;
  return (
    <>
      <h2>{firstLine(task.title || NO_PROMPT, 200)}</h2>
      <p className="chips">
        <Status status={task.status} words />
        {task.native_status === WAITING && <span className="chip">{WAITING}</span>}
        {task.agent_type && <span className="chip">{firstLine(task.agent_type, 40)}</span>}
        <CertaintyMark certainty={task.link?.certainty ?? null} rule={task.link?.rule} />
        <Flags flags={task.flags} />
      </p>
      <p className="acts">
        <button type="button" onClick={() => go(taskView(task.id))}>
          Open in a tab
        </button>
        {task.link && <Link to={taskView(task.link.parent)}>parent</Link>}
        {task.conversation && <Link to={conversationView(task.conversation)}>conversation</Link>}
        <Copy text={task.id} label="copy id" />
        <Copy text={() => `${location.origin}/task/${task.id}`} label="copy link" />
      </p>
      {task.prompt ? <Prompt text={task.prompt} author={task.prompt_author ?? "unknown"} /> : <p className="faint">Its prompt was not seen: no source showed it.</p>}
      <h3>Time</h3>
      <p>
        {clock(task.opened)} – {task.closed ? clock(task.closed) : task.status === "unknown" ? "nobody knows" : "now"} ({duration(task.duration_ms)})
      </p>
      <UsageTable own={task.usage} tree={task.tree_usage} />
      <RefList refs={task.refs} id={task.id} />
    </>
  );
}

function Prompt({ text, author }: { text: string; author: string }) {
  return (
    <>
      <h3>
        Prompt <span className={`chip author-${author}`}>written by {author === "human" ? "a person" : author}</span>
        <Copy text={text} />
      </h3>
      <LongText text={text} lines={20} />
    </>
  );
}

const KINDS = ["calls", "input", "output", "cache_read", "cache_write"] as const;
const NAMES = { calls: "model calls", input: "input", output: "output", cache_read: "cache read", cache_write: "cache written" };

/** Own, delegated, tree: each call is counted once, so the first two make the third. */
export function UsageTable({ own, tree }: { own: Usage; tree: Usage }) {
  const unseen = tree.calls === 0 && tree.cost_usd === null; // nobody saw a model at work: what it used cannot be known
  const figure = (number: number) => (unseen ? "—" : tokens(number));
  const delegated = own.cost_usd === null || tree.cost_usd === null ? null : tree.cost_usd - own.cost_usd;
  return (
    <table className="usage">
      <thead>
        <tr>
          <th scope="col">
            <span className="unseen">figure</span>
          </th>
          <th scope="col">own</th>
          <th scope="col">delegated</th>
          <th scope="col">tree</th>
        </tr>
      </thead>
      <tbody>
        {KINDS.map((kind) => (
          <tr key={kind}>
            <th scope="row">{NAMES[kind]}</th>
            <td>{figure(own[kind])}</td>
            <td>{figure(tree[kind] - own[kind])}</td>
            <td>{figure(tree[kind])}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">cost</th>
          <td>{money(own.cost_usd)}</td>
          <td>{money(delegated)}</td>
          <td>{money(tree.cost_usd)}</td>
        </tr>
      </tbody>
    </table>
  );
}

export function RefList({ refs, id }: { refs: Ref[]; id: string }) {
  return (
    <>
      <h3>Ids</h3>
      <ul className="refs">
        {[{ protocol: "ramify", kind: "id", value: id }, ...refs].map((ref) => (
          <li key={`${ref.protocol}:${ref.kind}:${ref.value}`}>
            <span>
              {ref.protocol} {ref.kind}
            </span>
            <code>{firstLine(ref.value, 60)}</code>
            <Copy text={ref.value} />
          </li>
        ))}
      </ul>
    </>
  );
}
