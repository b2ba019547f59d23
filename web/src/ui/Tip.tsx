/** What a task is about, when one rests on it with the pointer or the keyboard. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Task } from "../api/types.gen";
import { allTokens, clock, duration, tokens } from "../state/format";
import { NO_PROMPT } from "../state/sources";
import { visible } from "../state/text";

const REST = 300;
const LENGTH = 400;

export interface TipTarget {
  id: string;
  x: number;
  y: number;
}

/** `near` is null when nothing is rested on. */
export function TaskTip({ near }: { near: TipTarget | null }) {
  const [task, set] = useState<Task | null>(null);
  const [hidden, hide] = useState(false);
  useEffect(() => {
    set(null);
    hide(false);
    if (!near) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      api.tasks([near.id]).then(
        (found) => current && set(found.items[0] ?? null),
        () => undefined, // a tip that cannot be loaded is no trouble worth a word
      );
    }, REST);
    const escape = (event: KeyboardEvent) => event.key === "Escape" && hide(true);
    addEventListener("keydown", escape);
    return () => {
      current = false;
      clearTimeout(timer);
      removeEventListener("keydown", escape);
    };
  }, [near?.id]);
  if (!near || !task || hidden || task.id !== near.id) return null;
  const left = Math.min(near.x + 16, innerWidth - 440);
  const below = near.y < innerHeight * 0.6;
  const style = { left: Math.max(8, left), ...(below ? { top: near.y + 18 } : { bottom: innerHeight - near.y + 12 }) };
  return (
    <div className="tip" role="tooltip" style={style}>
      <strong>{visible(task.title || NO_PROMPT)}</strong>
      <p>{visible((task.prompt ?? "").slice(0, LENGTH))}</p>
      <dl>
        <dt>asked by</dt>
        <dd>{task.prompt_author}</dd>
        <dt>linked</dt>
        <dd>{task.link ? `${task.link.rule}, certainty ${task.link.certainty}` : "to nothing above"}</dd>
        <dt>started</dt>
        <dd>
          {clock(task.opened)}, {task.closed ? `took ${duration(task.duration_ms)}` : task.status}
        </dd>
        <dt>tokens</dt>
        <dd>{tokens(allTokens(task.usage))}</dd>
      </dl>
    </div>
  );
}
