/** Server-sent events from text that arrives in pieces. */
export interface Event {
  id: string;
  name: string;
  data: string;
}

export class EventReader {
  private rest = "";

  /** The events that are whole after this piece. Comments, such as pings, give none. */
  read(piece: string): Event[] {
    const parts = (this.rest + piece).split(/\r?\n\r?\n/);
    this.rest = parts.pop() ?? "";
    return parts.map(event).filter((one) => one.data !== "");
  }
}

function event(text: string): Event {
  const found: Event = { id: "", name: "message", data: "" };
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id") found.id = value ?? "";
    if (name === "event") found.name = value ?? "";
    if (name === "data") found.data += (found.data ? "\n" : "") + (value ?? "");
  }
  return found;
}
