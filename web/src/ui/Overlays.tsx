/** What lies over the page: the keys, and the search that opens ids at once. */
import { useState } from "react";
import { ApiError, api } from "../api/client";
import { KEYS } from "../state/keys";
import type { View } from "../state/view";
import { LoadDemo } from "../panes/Demo";
import { Dialog } from "./Dialog";
import { useKeys } from "./keyboard";
import { conversationView, fresh, taskView, useNavigation } from "./navigation";

export function Overlays() {
  const [open, set] = useState<"help" | "palette" | null>(null);
  useKeys({ help: () => set("help"), palette: () => set("palette") });
  const close = () => set(null);
  if (open === "help") return <Help close={close} />;
  return open === "palette" ? <Palette close={close} /> : null;
}

function Help({ close }: { close: () => void }) {
  return (
    <Dialog label="keys" close={close}>
      <h2>Keys</h2>
      <dl className="keys">
        {KEYS.map(([act, keys, words]) => (
          <div key={act}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </Dialog>
  );
}

const ID = /^(task_|conv_|call_|tool_|toolu_|msg_|[\w-]+:[\w-]+:)\S+$/;

function Palette({ close }: { close: () => void }) {
  const { go } = useNavigation();
  const [words, type] = useState("");
  const search = async (event: React.FormEvent) => {
    event.preventDefault();
    const wanted = words.trim();
    if (!wanted) return;
    const place = ID.test(wanted) ? await placeOf(wanted) : null;
    go(place ?? fresh({ page: "search", words: wanted }));
    close();
  };
  return (
    <Dialog label="search everything" close={close}>
      <form className="palette" role="search" onSubmit={(event) => void search(event)}>
        <input autoFocus type="search" aria-label="search everything" placeholder="words, or any id" value={words} onChange={(event) => type(event.target.value)} />
        <button type="submit">Search</button>
      </form>
      <p className="faint">An id of any kind opens at once: a task, a session, an agent, a toolu_… Words search everything that was said.</p>
      <LoadDemo
        begun={() => {
          go(fresh({ page: "runs" }));
          close();
        }}
      />
    </Dialog>
  );
}

const FINDERS: Record<string, (id: string) => Promise<View | null>> = {
  task: async (id) => taskView((await api.task(id)).id),
  tool: async (id) => {
    const tool = await api.tool(id);
    return tool.task ? fresh({ page: "task", id: tool.task, selected: `tool:${tool.call_id}` }) : null;
  },
  conv: async (id) => conversationView((await api.conversation(id)).id),
  call: async (id) => {
    const call = await api.call(id);
    return call.task ? fresh({ page: "task", id: call.task, selected: `call:${call.id}` }) : null;
  },
};

/** Where an id leads; its beginning says what to try first. */
async function placeOf(id: string): Promise<View | null> {
  const first = Object.keys(FINDERS).filter((kind) => id.startsWith(kind));
  for (const kind of [...first, ...Object.keys(FINDERS).filter((one) => !first.includes(one))]) {
    try {
      const place = await FINDERS[kind]?.(id);
      if (place) return place;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error; // an id that is none of this kind: try the next
    }
  }
  return null;
}
