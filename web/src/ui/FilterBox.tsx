/** A box for filters: completes names and values, says what was understood, and points at a wrong word. */
import { useEffect, useId, useRef, useState } from "react";
import { api } from "../api/client";
import type { FilterHelp, FilterSuggestion } from "../api/types.gen";
import { place, pointed, put, withoutTerm } from "../state/filter";
import { useKeys } from "./keyboard";

const SOON = 120; // milliseconds: nobody reads help between two letters

export type List = "tasks" | "calls" | "conversations" | "tools" | "operations" | "search";

interface Properties {
  list: List;
  label: string;
  placeholder: string;
  value: string;
  change: (text: string) => void;
  /** Where Enter does something of its own, such as searching. */
  enter?: () => void;
  focused?: boolean;
}

export function FilterBox({ list, label, placeholder, value, change, enter, focused = false }: Properties) {
  const field = useRef<HTMLInputElement>(null);
  const [cursor, moveCursor] = useState(value.length);
  const [open, unfold] = useState(false);
  const [chosen, choose] = useState(-1);
  const at = place(value, cursor);
  const help = useHelp(list, value, at);
  const options = open && help ? help.suggestions : [];
  const id = useId();
  useKeys({ filter: () => field.current?.focus() });
  const write = (text: string, at: number) => {
    change(text);
    moveCursor(at);
    choose(-1);
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(at, at);
    });
  };
  const accept = (one: FilterSuggestion) => write(...put(value, one));
  const keys: Record<string, () => boolean> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Escape: () => open && (unfold(false), true), // a second one leaves the box
    Enter: () => takes(chosen) || (enter?.(), unfold(false), enter !== undefined),
    Tab: () => chosen >= 0 && takes(chosen),
  };
  const step = (by: 1 | -1) => {
    unfold(true);
    if (options.length) choose((chosen + by + options.length + (chosen < 0 && by < 0 ? 1 : 0)) % options.length);
    else choose(by > 0 ? 0 : -1); // they are on their way
    return true;
  };
  const takes = (at: number) => {
    const one = options[at];
    if (one) accept(one);
    return Boolean(one);
  };
  return (
    <div className="filter-box">
      <input
        ref={field}
        type="search"
        role="combobox"
        aria-label={label}
        aria-expanded={options.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={options[chosen] ? `${id}-${chosen}` : undefined}
        aria-invalid={help?.error ? true : undefined}
        autoComplete="off"
        spellCheck={false}
        autoFocus={focused}
        placeholder={placeholder}
        value={value}
        onChange={(event) => {
          change(event.target.value);
          moveCursor(event.target.selectionStart ?? event.target.value.length);
          choose(-1);
          unfold(true);
        }}
        onSelect={(event) => moveCursor(event.currentTarget.selectionStart ?? 0)}
        onClick={() => unfold(true)}
        onBlur={() => unfold(false)}
        onKeyDown={(event) => {
          if (keys[event.key]?.()) event.preventDefault();
        }}
      />
      <ul className="suggestions" role="listbox" id={id} aria-label="suggestions" hidden={!options.length}>
        {options.map((one, at) => (
          <Suggestion key={one.text} id={`${id}-${at}`} one={one} chosen={at === chosen} accept={() => accept(one)} />
        ))}
      </ul>
      {!help && value.trim() && <Coming />}
      {help && value && <Understood help={help} text={value} remove={(at) => write(...withoutTerm(value, at))} typing={options.length > 0 ? at : -1} />}
    </div>
  );
}

function Suggestion({ id, one, chosen, accept }: { id: string; one: FilterSuggestion; chosen: boolean; accept: () => void }) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) row.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    // Pressed, not clicked: the box must not lose its focus first.
    <li ref={row} id={id} role="option" aria-selected={chosen} onMouseDown={(event) => (event.preventDefault(), accept())}>
      <code>{one.text.trim()}</code> <span className="faint">{one.meaning}</span>
    </li>
  );
}

/** Its room is kept: what stands below must not move under a hand that is about to press it. */
function Coming() {
  return (
    <ul className="terms coming" aria-hidden="true">
      <li className="chip">
        …
        <button type="button" className="quiet" tabIndex={-1}>
          ✕
        </button>
      </li>
    </ul>
  );
}

interface UnderstoodProperties {
  help: FilterHelp;
  text: string;
  remove: (term: { start: number; end: number }) => void;
  /** Where somebody still writes: a word that can be completed is not called wrong yet. */
  typing: number;
}

function Understood({ help, text, remove, typing }: UnderstoodProperties) {
  const { error } = help;
  if (error && !(error.start <= typing && typing <= error.end)) {
    const { before, word, after, carets } = pointed(text, error);
    return (
      <div className="wrong-filter" role="alert">
        <pre tabIndex={0}>
          {before}
          <mark>{word}</mark>
          {after}
          {"\n"}
          <span aria-hidden="true">{carets}</span>
        </pre>
        <p>
          <b>{error.message}</b>: {error.hint}
        </p>
      </div>
    );
  }
  if (error || !help.terms.length) return null;
  return (
    <ul className="terms" aria-label="what the filter means">
      {help.terms.map((term) => (
        <li key={`${term.start}-${term.says}`} className="chip">
          {term.says}
          <button type="button" className="quiet" aria-label={`without: ${term.says}`} onClick={() => remove(term)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The last help stays until the next comes, as long as it is about the same text. */
function useHelp(list: List, text: string, at: number): FilterHelp | null {
  const [state, set] = useState<{ text: string; help: FilterHelp } | null>(null);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      api.filter(list, text, at).then(
        (help) => current && set({ text, help }),
        () => undefined, // the list that is narrowed says what is wrong with the server
      );
    }, SOON);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [list, text, at]);
  return state?.text === text ? state.help : null;
}
