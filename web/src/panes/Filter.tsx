/** Words that narrow what is shown, and how much they hide. */
import { useRef } from "react";
import { useKeys } from "../ui/keyboard";
import { grouped } from "../state/format";
import { useNavigation } from "../ui/navigation";

interface Properties {
  shown: number;
  all: number;
  depths?: boolean;
  children?: React.ReactNode;
}

export function Filter({ shown, all, depths = false, children }: Properties) {
  const { view, adjust, go } = useNavigation();
  const field = useRef<HTMLInputElement>(null);
  useKeys({ filter: () => field.current?.focus() });
  return (
    <div className="filter">
      <input
        ref={field}
        type="search"
        aria-label="filter this page"
        placeholder="filter: words, an agent, a status   /"
        value={view.words}
        onChange={(event) => adjust({ words: event.target.value })}
      />
      {view.words && (
        <span className="faint" role="status">
          {grouped(shown)} of {grouped(all)} shown{" "}
          <button type="button" className="quiet" onClick={() => adjust({ words: "" })}>
            show all
          </button>
        </span>
      )}
      {view.focus && (
        <button type="button" className="quiet" onClick={() => go({ focus: null })}>
          leave focus
        </button>
      )}
      {depths && (
        <span className="depths" role="group" aria-label="unfold to depth">
          {[1, 2, 3].map((depth) => (
            <button key={depth} type="button" aria-pressed={view.below === depth} onClick={() => adjust({ below: depth, toggled: [] })}>
              {depth}
            </button>
          ))}
          <button type="button" aria-pressed={view.below === null} onClick={() => adjust({ below: null, toggled: [] })}>
            all
          </button>
        </span>
      )}
      {children}
    </div>
  );
}
