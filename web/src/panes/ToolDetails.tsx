/** One tool call: what it was given beside what it gave back. */
import { api } from "../api/client";
import { clock, duration } from "../state/format";
import { firstLine, readable } from "../state/text";
import { Status } from "../ui/Marks";
import { Value } from "../ui/Payload";
import { Sides } from "../ui/Sides";
import { Copy } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, taskView, useNavigation } from "../ui/navigation";
import { RefList } from "./TaskDetails";

export function ToolDetails({ id }: { id: string }) {
  const { value: tool, error, again } = useAnswer(() => api.tool(id), id);
  const { adjust } = useNavigation();
  if (error) return <Trouble error={error} again={again} />;
  if (!tool) return <Loading />;
  return (
    <>
      <h2>{firstLine(tool.name ?? "tool call", 100)}</h2>
      <p className="chips">
        <Status status={tool.status} words />
        <span className="faint">
          {clock(tool.timestamp)}, {duration(tool.duration_ms)}
        </span>
        {tool.result_source && <span className="chip">result seen on the {tool.result_source}</span>}
      </p>
      <p className="acts">
        {tool.spawned.map((child) => (
          <Link key={child} to={taskView(child)}>
            the task it started
          </Link>
        ))}
        {tool.call && (
          <button type="button" className="quiet" onClick={() => adjust({ selected: `call:${tool.call}` })}>
            the model call that asked for it
          </button>
        )}
      </p>
      <Sides
        left={{
          title: (
            <>
              Input <Copy text={() => readable(tool.args)} />
            </>
          ),
          body: <Value value={tool.args} label="input" />,
        }}
        right={{
          title: (
            <>
              Result <Copy text={() => readable(tool.result)} />
            </>
          ),
          body: tool.result === null && tool.status === "running" ? <p className="faint">No result was seen.</p> : <Value value={tool.result} label="result" />,
        }}
      />
      <RefList refs={tool.refs} id={tool.id} />
    </>
  );
}
