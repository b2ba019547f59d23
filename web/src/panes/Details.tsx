/** The pane beside the run: everything about what is selected, without covering it. */
import { Suspense } from "react";
import type { Pane } from "../state/view";
import { PANES } from "../state/view";
import { perform, useKeys } from "../ui/keyboard";
import { useNavigation } from "../ui/navigation";
import { CallDetails } from "./CallDetails";
import { Raw } from "./Raw";
import { TaskDetails } from "./TaskDetails";
import { ToolDetails } from "./ToolDetails";
import { Why } from "./Why";

const WORDS: Record<Pane, string> = { details: "details", why: "why linked", raw: "raw" };

export function Details() {
  const { view, adjust } = useNavigation();
  const [kind = "", id = ""] = split(view.selected);
  const shown = ["task", "tool", "call"].includes(kind);
  useKeys(
    shown
      ? {
          close: () => adjust({ selected: null, pane: "details" }),
          why: () => adjust({ pane: "why" }),
          raw: () => adjust({ pane: "raw" }),
        }
      : {},
  );
  if (!shown) return null;
  return (
    <aside className="details" aria-label="details">
      <header>
        <div role="tablist" aria-label="what to see of it">
          {PANES.map((pane) => (
            <button key={pane} type="button" role="tab" aria-selected={view.pane === pane} onClick={() => adjust({ pane })}>
              {WORDS[pane]}
            </button>
          ))}
        </div>
        <span className="room" />
        <button type="button" className="quiet" aria-label="previous" onClick={() => perform("previous")}>
          ‹
        </button>
        <button type="button" className="quiet" aria-label="next" onClick={() => perform("next")}>
          ›
        </button>
        <button type="button" className="quiet close" aria-label="close details" onClick={() => adjust({ selected: null, pane: "details" })}>
          ✕
        </button>
      </header>
      <div className="details-body" role="tabpanel" aria-label={WORDS[view.pane]} tabIndex={0}>
        <Suspense>
          {view.pane === "why" ? <Why kind={kind} id={id} /> : view.pane === "raw" ? <Raw kind={kind} id={id} /> : <About kind={kind} id={id} />}
        </Suspense>
      </div>
    </aside>
  );
}

function About({ kind, id }: { kind: string; id: string }) {
  if (kind === "tool") return <ToolDetails id={id} />;
  return kind === "call" ? <CallDetails id={id} /> : <TaskDetails id={id} />;
}

function split(selected: string | null): [string?, string?] {
  if (!selected) return [];
  const at = selected.indexOf(":");
  return [selected.slice(0, at), selected.slice(at + 1)];
}
