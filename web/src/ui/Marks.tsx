/** Small marks that mean the same everywhere: status, author, certainty, flags. */
import type { Look } from "../state/status";
import { certaintyOf, look } from "../state/status";

const SHAPES: Record<Look, React.ReactNode> = {
  working: <circle cx="8" cy="8" r="5" fill="none" strokeWidth="2.4" strokeDasharray="21 10" />,
  done: <path d="M3.5 8.5l3 3 6-7" fill="none" strokeWidth="2.2" />,
  failed: <path d="M4 4l8 8M12 4l-8 8" fill="none" strokeWidth="2.2" />,
  waiting: <path d="M5.5 4v8M10.5 4v8" fill="none" strokeWidth="2.4" />,
  canceled: <path d="M8 2.8a5.2 5.2 0 1 0 .01 0zM4.5 11.5l7-7" fill="none" strokeWidth="1.8" />,
  unknown: <path d="M5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2.9-1.2 1.7M8 12.4v.2" fill="none" strokeWidth="2" />,
};

/** Shape and word and colour: none of them alone. */
export function Status({ status, words = false, more = "" }: { status: string; words?: boolean; more?: string }) {
  const kind = look(status);
  return (
    <span className={`status ${kind}`} title={more ? `${status}, ${more}` : status}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" stroke="currentColor" strokeLinecap="round" strokeLinejoin="round">
        {SHAPES[kind]}
      </svg>
      <span className={words ? "" : "unseen"}>{status}</span>
    </span>
  );
}

export function CertaintyMark({ certainty, rule }: { certainty: number | null; rule?: string | null }) {
  const kind = certaintyOf(certainty, rule);
  if (kind === "none" || kind === "stated") return null;
  const words = kind === "manual" ? "linked by a person" : `inferred${rule ? ` by ${rule}` : ""}, certainty ${certainty}`;
  return (
    <span className={`chip ${kind}`} title={words}>
      {kind === "manual" ? "by hand" : "inferred"}
    </span>
  );
}

export function Flags({ flags }: { flags: string[] }) {
  return flags.map((flag) => (
    <span key={flag} className="chip warning">
      {flag}
    </span>
  ));
}

export function Progress({ done, all, failed }: { done: number; all: number; failed: number }) {
  if (!all) return null;
  return (
    <span className="progress" title={`${done} of ${all} sub-tasks ended${failed ? `, ${failed} failed` : ""}`}>
      <span className={failed ? "bad" : ""}>
        {done}/{all}
      </span>
      <progress value={done} max={all} aria-label="sub-tasks ended" />
    </span>
  );
}
