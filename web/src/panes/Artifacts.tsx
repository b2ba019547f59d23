/** Everything that a run produced, task by task; it grows while it is looked at. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Artifact } from "../api/types.gen";
import { count } from "../state/format";
import type { Run } from "../state/run";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, taskView } from "../ui/navigation";
import { ArtifactCard } from "./KeptTurns";

const MOST = 200;

export function Artifacts({ run }: { run: Run }) {
  const [round, next] = useState(0);
  useEffect(() => run.hear((change) => change.artifact && run.tree?.nodes.has(change.artifact.task) && next((old) => old + 1)), [run]);
  const made = useAnswer(() => api.artifacts(run.id, true, MOST), run.id, round);
  if (made.error) return <Trouble error={made.error} again={made.again} />;
  if (!made.value) return <Loading />;
  const { items } = made.value;
  return (
    <section className="pane reading artifacts" aria-label="artifacts" tabIndex={0}>
      {items.length === 0 && <p className="empty">No artifact was seen in this run.</p>}
      {made.value.next && <p className="note">The first {count(MOST, "artifact")}; open a sub-task for those of its own.</p>}
      {[...byTask(items)].map(([task, own]) => (
        <section key={task} className="told" aria-label={`artifacts of ${firstLine(run.tree?.nodes.get(task)?.title || NO_PROMPT, 60)}`}>
          <h3>
            <Link to={taskView(task)}>{firstLine(run.tree?.nodes.get(task)?.title || NO_PROMPT, 80)}</Link>
          </h3>
          {own.map((artifact) => (
            <ArtifactCard key={artifact.artifactId} artifact={artifact} />
          ))}
        </section>
      ))}
    </section>
  );
}

function byTask(items: Artifact[]): Map<string, Artifact[]> {
  const found = new Map<string, Artifact[]>();
  for (const item of items) found.set(item.task ?? "", [...(found.get(item.task ?? "") ?? []), item]);
  return found;
}
