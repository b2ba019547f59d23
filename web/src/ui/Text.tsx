/** Captured text: as text, clipped, opened on a click; the copy button gives it as it was. */
import { useState } from "react";
import { grouped } from "../state/format";
import { clip, visible } from "../state/text";

export function Copy({ text, label = "copy" }: { text: string | (() => string); label?: string }) {
  const [done, set] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      set("copied");
    } catch {
      set("not allowed");
    }
    setTimeout(() => set(""), 1500);
  };
  return (
    <button type="button" className="quiet copy" onClick={() => void copy()}>
      {done || label}
    </button>
  );
}

interface LongProperties {
  text: string;
  code?: boolean;
  lines?: number | undefined;
  label?: string | undefined;
}

export function LongText({ text, code = false, lines, label }: LongProperties) {
  const [whole, set] = useState(false);
  const cut = clip(text, lines);
  const hidden = cut.hiddenLines ? `${grouped(cut.hiddenLines)} more lines` : `${grouped(cut.hiddenCharacters)} more characters`;
  const shown = visible(whole ? text : cut.text);
  return (
    <div className={code ? "long code" : "long"}>
      {code ? (
        <pre aria-label={label} tabIndex={0}>
          {shown}
        </pre>
      ) : (
        <p>{shown}</p>
      )}
      {cut.hiddenCharacters > 0 && (
        <button type="button" className="quiet" onClick={() => set(!whole)}>
          {whole ? "show less" : `show ${hidden}`}
        </button>
      )}
    </div>
  );
}
