/** What people said about how a task was done. */
import type { Task } from "../api/types.gen";
import { clock } from "../state/format";
import { firstLine } from "../state/text";

export function Feedback({ task }: { task: Task }) {
  if (!task.feedback?.length) return null;
  return (
    <ul className="feedback" aria-label="feedback">
      {task.feedback.map((one, at) => (
        <li key={at}>
          <span className="chip">feedback{typeof one.rating === "string" || typeof one.rating === "number" ? `: ${firstLine(String(one.rating), 20)}` : ""}</span>{" "}
          {typeof one.comment === "string" && <q>{firstLine(one.comment, 300)}</q>} <span className="faint">{clock(typeof one.timestamp === "string" ? one.timestamp : null)}</span>
        </li>
      ))}
    </ul>
  );
}
