/** Captured values as people read them: JSON as a tree, diffs as diffs, pictures as pictures. All of it is text to the browser. */
import { useState } from "react";
import { count } from "../state/format";
import type { DiffLine, Part } from "../state/payload";
import { Exact, isPlain, partsOf, wordsOf } from "../state/payload";
import { visible } from "../state/text";
import { LongText } from "./Text";

/** What a tool was given or gave back. */
export function Value({ value, label }: { value: unknown; label?: string | undefined }) {
  const parts = partsOf(value);
  return parts.length ? <Parts parts={parts} label={label} /> : <p className="faint">nothing</p>;
}

/** What somebody said. */
export function Words({ text, lines }: { text: string; lines: number }) {
  return <Parts parts={wordsOf(text)} lines={lines} />;
}

const MOST_PARTS = 20;

function Parts({ parts, label, lines }: { parts: Part[]; label?: string | undefined; lines?: number | undefined }) {
  const [all, set] = useState(false);
  const shown = all ? parts : parts.slice(0, MOST_PARTS);
  return (
    <>
      {shown.map((part, at) => (
        <OnePart key={at} part={part} label={label} lines={lines} />
      ))}
      {parts.length > shown.length && (
        <button type="button" className="quiet" onClick={() => set(true)}>
          show {count(parts.length - shown.length, "more part")}
        </button>
      )}
    </>
  );
}

function OnePart({ part, label, lines }: { part: Part; label?: string | undefined; lines?: number | undefined }) {
  switch (part.kind) {
    case "text":
      return <LongText text={part.text} lines={lines} />;
    case "code":
      return <LongText text={part.text} code label={label} />;
    case "json":
      if (isPlain(part.value)) return <Json value={part.value} label={label} />;
      return (
        <Switchable text={part.text} label={label} other="tree">
          <Json value={part.value} label={label} />
        </Switchable>
      );
    case "diff":
      return (
        <Switchable text={part.text} label={label} other="diff">
          <Diff lines={part.lines} name={part.name} />
        </Switchable>
      );
    case "picture":
      return <img className="captured" alt="picture that was captured" src={`data:${part.picture.type};base64,${part.picture.data}`} />;
  }
}

/** The same as it was written: what is drawn is an aid, not the truth. */
function Switchable({ text, label, other, children }: { text: string; label?: string | undefined; other: string; children: React.ReactNode }) {
  const [plain, set] = useState(false);
  return (
    <div className="switchable">
      {plain ? <LongText text={text} code label={label} /> : children}
      <button type="button" className="quiet small" onClick={() => set(!plain)}>
        {plain ? `as ${other}` : "as text"}
      </button>
    </div>
  );
}

const OPEN_DEPTH = 2;
const OPEN_CHILDREN = 20;
const STEP = 100;

export function Json({ value, label }: { value: unknown; label?: string | undefined }) {
  const few = entriesOf(value)?.slice(0, OPEN_CHILDREN + 1) ?? [];
  const bare = !Array.isArray(value) && few.length > 0 && few.length <= OPEN_CHILDREN; // braces around everything tell nothing
  return (
    <div className={isPlain(value) ? "json flat" : "json"} role="group" aria-label={label ?? "JSON"}>
      {bare ? few.map(([name, item]) => <JsonNode key={name} name={name} value={item} depth={1} />) : <JsonNode name={null} value={value} depth={0} />}
    </div>
  );
}

function entriesOf(value: unknown): [string, unknown][] | null {
  if (typeof value !== "object" || value === null || value instanceof Exact) return null;
  return Array.isArray(value) ? value.map((item: unknown, at) => [String(at), item]) : Object.entries(value);
}

/** Only what is open is drawn, so neither depth nor length of what was captured can hold the page up. */
function JsonNode({ name, value, depth }: { name: string | null; value: unknown; depth: number }) {
  const entries = entriesOf(value);
  const [open, set] = useState(depth < OPEN_DEPTH && (entries?.length ?? 0) <= OPEN_CHILDREN);
  const [most, show] = useState(STEP);
  if (!entries) return <Leaf name={name} value={value} />;
  const brackets = Array.isArray(value) ? "[]" : "{}";
  const words = Array.isArray(value) ? count(entries.length, "item") : count(entries.length, "field");
  if (!entries.length) return <p className="json-line">{<Name name={name} />} {brackets}</p>;
  return (
    <div className="json-node">
      <button type="button" className="json-line" aria-expanded={open} onClick={() => set(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> <Name name={name} /> <span className="faint">{open ? brackets[0] : `${brackets[0]} ${words} ${brackets[1]}`}</span>
      </button>
      {open && (
        <div className="json-children">
          {entries.slice(0, most).map(([key, item]) => (
            <JsonNode key={key} name={Array.isArray(value) ? null : key} value={item} depth={depth + 1} />
          ))}
          {entries.length > most && (
            <button type="button" className="quiet" onClick={() => show(most + 10 * STEP)}>
              show {count(entries.length - most, "more item")}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Name({ name }: { name: string | null }) {
  return name === null ? null : <span className="json-name">{visible(name).slice(0, 200)}:</span>;
}

const LONG = 300;

function Leaf({ name, value }: { name: string | null; value: unknown }) {
  if (typeof value === "string" && (value.includes("\n") || value.length > LONG)) {
    return (
      <div className="json-long">
        <Name name={name} /> <LongText text={value} code />
      </div>
    );
  }
  const kind = value === null ? "null" : value instanceof Exact ? "number" : typeof value;
  const text = value instanceof Exact ? value.source : typeof value === "string" ? `"${visible(value)}"` : String(value);
  return (
    <p className="json-line">
      <Name name={name} /> <span className={`json-${kind}`}>{text}</span>
    </p>
  );
}

const LINES = 40;

export function Diff({ lines, name }: { lines: DiffLine[]; name: string }) {
  const [whole, set] = useState(false);
  const shown = whole ? lines : lines.slice(0, LINES);
  const added = lines.filter((line) => line.kind === "new").length;
  const removed = lines.filter((line) => line.kind === "old").length;
  return (
    <figure className="diff">
      <figcaption>
        {name && <code>{visible(name).slice(0, 200)}</code>} <span className="faint">{`+${added} −${removed}`}</span>
      </figcaption>
      <pre tabIndex={0} aria-label={`changes${name ? ` of ${visible(name).slice(0, 200)}` : ""}`}>
        {shown.map((line, at) => (
          <span key={at} className={line.kind}>
            {visible(line.text.slice(0, 2000))}
            {"\n"}
          </span>
        ))}
      </pre>
      {lines.length > LINES && (
        <button type="button" className="quiet" onClick={() => set(!whole)}>
          {whole ? "show less" : `show ${count(lines.length - LINES, "more line")}`}
        </button>
      )}
    </figure>
  );
}
