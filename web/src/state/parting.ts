/** What goes with a conversation, in one sentence or two. */
import type { Leaving } from "../api/types.gen";
import { count } from "./format";

export function parting(leaving: Leaving): string {
  const parts = [
    leaving.tasks ? count(leaving.tasks, "task") : "",
    leaving.calls ? count(leaving.calls, "model call") : "",
    leaving.tool_calls ? count(leaving.tool_calls, "tool call") : "",
    leaving.events ? count(leaving.events, "event") : "",
  ].filter(Boolean);
  const said = parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : (parts[0] ?? "All that was seen of it");
  const parted = leaving.parted.length;
  const others = parted ? ` ${count(parted, "other conversation")} ${parted === 1 ? "stays and loses" : "stay and lose"} the link to it.` : "";
  return `${said} go, with every word that was said: from the log, the lists, the search and the disk. Nobody can bring it back.${others}`;
}
